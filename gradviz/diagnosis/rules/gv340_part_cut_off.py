"""One part of a layer's output is cut off, and the rows that make it never learn.

What it does
    Finds pieces of one result (``chunk``, ``split``, ``unbind``, slices) of which one
    reaches the loss with its graph and another only through a cut: ``.item()``, NumPy,
    a copy, ``.data``, ``no_grad``. Finds also a part that nothing takes, of a layer
    whose result is split into parts of one size, where another one of them has been
    taken twice.

Why is this bad
    Every parameter has a gradient, because the other pieces give it one. The rows that
    belong to the cut piece get zeros in every pass: a variance, a gate or a head that
    stays as it was initialised.

Example
    ::

        mean, log_var = encoder(x).chunk(2, dim=-1)
        std = torch.from_numpy(np.exp(0.5 * log_var.detach().numpy()))
        z = mean + std * torch.randn_like(mean)

Use instead
    ::

        mean, log_var = encoder(x).chunk(2, dim=-1)
        z = mean + (0.5 * log_var).exp() * torch.randn_like(mean)

When it stays quiet
    Where the piece gets a gradient by another way, too, where ``.detach()`` says that
    it is to get none, where what was cut off is only compared with, as a target is, and
    for some examples of a batch. A part that nothing takes, where no other one is taken
    twice for two purposes that meet before the loss.

References
    https://pytorch.org/docs/stable/notes/autograd.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import prod

from gradviz.dependence.cuts import blamed, is_dead, sampled
from gradviz.dependence.flow import Crossing, Flow, name_of, words
from gradviz.dependence.parts import Part, features_of, parts_of
from gradviz.diagnosis.decisions.frames import spot
from gradviz.diagnosis.edits.calls import without_method
from gradviz.diagnosis.edits.remedy import first_of
from gradviz.diagnosis.edits.statements import unblocked
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import any_nonzero, is_failed
from gradviz.program import Backward, Call, History, RawSite, Value

_SPLITS = words(
    "chunk split tensor_split unbind unsafe_chunk unsafe_split getitem narrow select "
    "hsplit vsplit iter"
)
_LEAST = 2  # parts that are taken
_FEW = 2  # results of one layer that are looked at
_MOST = 30  # results that are made of a part
_FAR = 12  # calls between a piece and the cut


@rule("GV340", "part-cut-off", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per part that is cut off, or that another one is taken for."""
    if not any(name_of(call) in _SPLITS for call in history.calls):
        return
    flow, reported = history.once(Flow), set[int]()
    for backward in sampled(history):
        if is_failed(backward) or is_dead(backward):
            continue
        for root in backward.roots:
            for crossing in flow.crossings(root, backward.index):
                detached = blamed(history, crossing)[0] == "detach"
                if not crossing.fed or (detached and crossing.call.op != "data.get"):
                    continue
                found = _piece(history, crossing.source)
                if found is not None and not _gets_nothing(history, backward, *found):
                    continue
                found = found or _taken_behind(history, crossing, root)
                if found is not None and found[0].index not in reported:
                    reported.add(found[0].index)
                    yield _hit(history, backward, crossing, *found)
    yield from _taken_twice(history)


def _piece(history: History, value: Value) -> tuple[Call, Value] | None:
    """Return the call that split a result, and the piece that a value is made of."""
    for _ in range(_FAR):
        call = history.producer(value)
        learning = [] if call is None else [v for v in call.inputs if v.requires_grad]
        if call is None or len(learning) != 1:
            return None
        if name_of(call) in _SPLITS and not learning[0].is_leaf:
            return None if _is_batch(learning[0], value) else (call, value)
        value = learning[0]
    return None


def _taken_behind(
    history: History, crossing: Crossing, root: Value
) -> tuple[Call, Value] | None:
    """Return the call that took features behind a cut which none takes before it.

    In no run of the layer: ``raw.data[:, 1]`` beside ``raw[:, 0]``.
    """
    layer = history.producer(crossing.source, crossing.call.index)
    weights = [] if layer is None else [e for e in layer.inputs if e.is_parameter]
    parts = parts_of(history, layer) if layer is not None and weights else []
    cut = [each for each in parts if not each.value.requires_grad]
    behind = history.behind([root]) if cut else set[int]()
    cut = [each for each in cut if each.value.tensor in behind]
    learned = {
        feature
        for use in (history.uses(weights[0].tensor) if cut else ())
        for each in parts_of(history, use)
        for feature in each.features
        if each.value.requires_grad
    }
    lost = [each for each in cut if learned and each.features.isdisjoint(learned)]
    return (lost[0].taken, lost[0].value) if lost else None


def _is_batch(whole: Value, piece: Value) -> bool:
    """Return whether a piece has some rows only: examples of a batch, not features."""
    return (
        len(whole.shape) > 1 and whole.shape[1:] == piece.shape[-len(whole.shape) + 1 :]
    )


def _gets_nothing(
    history: History, backward: Backward, split: Call, piece: Value
) -> bool:
    """Return whether a pass gave the whole a gradient, and this piece of it none."""
    whole = next(each for each in split.inputs if each.requires_grad)
    reached = came = False
    for run in backward.runs:
        if run.node == whole.node:
            reached = True
        if run.node == piece.node and piece.output < len(run.incoming):
            came |= any_nonzero([run.incoming[piece.output]])
    return reached and not came


# ---- a part that is taken twice, in place of another ---------------------------------


def _taken_twice(history: History) -> Iterator[Hit]:
    """Yield a hit for each line that takes a part once more, and leaves another one."""
    told, looked = set[RawSite | None](), dict[tuple[int, ...], int]()
    for layer in history.calls if history.backwards else ():
        weights = tuple(each.tensor for each in layer.inputs if each.is_parameter)
        looked[weights] = looked.get(weights, 0) + 1
        if not weights or looked[weights] > _FEW:
            continue
        pair = _twins(history, layer)
        if pair is not None and pair[0].taken.site not in told:
            told.add(pair[0].taken.site)
            yield _twice(history, layer, *pair)


def _twins(history: History, layer: Call) -> tuple[Part, Part] | None:
    """Return the part that was taken by mistake, and the one that it is a twin of.

    Features as many as it has are left over. The later line is wrong, unless what is
    left lies before.
    """
    parts = parts_of(history, layer)
    if len(parts) < _LEAST or not all(each.features for each in parts):
        return None
    left = set(range(features_of(layer))).difference(*(e.features for e in parts))
    size = len(parts[0].features)
    if len(left) != size or any(len(each.features) != size for each in parts):
        return None
    several = len({each.features for each in parts}) > 1
    for place, one in enumerate(parts):
        for other in parts[place + 1 :]:
            if one.features == other.features and one.taken.site != other.taken.site:
                named = _is_named(history, one) and _is_named(history, other)
                if (several or named) and _meet(history, one.value, other.value):
                    first = min(left) < min(one.features)
                    return (one, other) if first else (other, one)
    return None


def _is_named(history: History, part: Part) -> bool:
    """Tell whether a name of its own was given to a part, as it is."""
    where = spot(history, part.taken.site, part.taken.stack)
    around = None if where is None else where.source.parent(where.node)
    if where is not None and isinstance(around, ast.Tuple):
        around = where.source.parent(around)
    return isinstance(around, ast.Assign)


def _meet(history: History, one: Value, other: Value) -> bool:
    """Tell whether what is made of two parts meets, element by element."""
    reached = [_made_of(history, each) for each in (one, other)]
    return not reached[0].isdisjoint(reached[1])


def _made_of(history: History, part: Value) -> set[int]:
    waiting = [part]
    for value in waiting:
        for use in history.uses(value.tensor):
            waiting += [
                each
                for each in use.outputs
                if each.requires_grad
                and prod(each.shape) >= prod(part.shape)
                and len(waiting) < _MOST
            ]
    return {each.tensor for each in waiting[1:]}


def _twice(history: History, layer: Call, part: Part, twin: Part) -> Hit:
    site, count = part.taken.site, features_of(layer)
    name = history.name(part.value, "This")
    return Hit(
        f"{name} is the same part of what {history.line(layer.site)} makes as the one "
        f"that {history.line(twin.taken.site)} takes: {len(part.features)} of its "
        f"{count} features get no gradient, and what makes them never learns.",
        site,
        "Take the part that nothing takes yet, or split the result at once: "
        "`.chunk(...)`, `.split(...)`.",
        symptom=layer.site,
        related=(
            Related("the same part is taken here", twin.taken.site),
            Related("made here", layer.site),
        ),
        tensors=(part.value.tensor,),
        certainty=0.8,
    )


def _hit(
    history: History, backward: Backward, crossing: Crossing, split: Call, piece: Value
) -> Hit:
    cut = crossing.call
    text = history.text(split.site) if name_of(split) == "getitem" else ""
    name = history.name(piece, f"`{text}`" if text else "one piece")
    return Hit(
        f"{name} is a part of what {history.line(split.site)} splits. It reaches the "
        f"loss only through {history.quoted(cut.site)}, which cuts the graph: the "
        "other parts get a gradient, this one none, and what makes it never learns.",
        blamed(history, crossing)[1],
        "Compute this with tensors that keep their graph; if it is meant to be fixed, "
        "give it a layer of its own and freeze that.",
        symptom=backward.site,
        related=(Related("split here", split.site),),
        nodes=() if piece.node is None else (piece.node,),
        tensors=(piece.tensor,),
        edit=first_of(
            unblocked(blamed(history, crossing)[1]),
            without_method(cut.site, ("detach", "data")),
        ),
        certainty=0.6,
    )
