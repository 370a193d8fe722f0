"""One part of a layer's output is cut off, and the rows that make it never learn.

What it does
    Finds pieces of one result (``chunk``, ``split``, ``unbind``, slices) of which one
    reaches the loss with its graph and another only through a cut: ``.item()``, NumPy,
    a copy, ``no_grad``.

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
    for some examples of a batch.

References
    https://pytorch.org/docs/stable/notes/autograd.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence.cuts import blamed, is_dead, sampled
from gradviz.dependence.flow import Crossing, Flow, name_of, words
from gradviz.diagnosis.edits.calls import without_method
from gradviz.diagnosis.edits.remedy import first_of
from gradviz.diagnosis.edits.statements import unblocked
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import any_nonzero, is_failed
from gradviz.program import Backward, Call, History, Value

_SPLITS = words(
    "chunk split tensor_split unbind unsafe_chunk unsafe_split getitem narrow select "
    "hsplit vsplit iter"
)
_FAR = 12  # calls between a piece and the cut


@rule("GV340", "part-cut-off", "warning")
def check(history: History) -> Iterator[Hit]:
    if not any(name_of(call) in _SPLITS for call in history.calls):
        return
    flow, reported = history.once(Flow), set[int]()
    for backward in sampled(history):
        if is_failed(backward) or is_dead(backward):
            continue
        for root in backward.roots:
            for crossing in flow.crossings(root, backward.index):
                found = _piece(history, crossing.source) if crossing.fed else None
                if found is None or found[0].index in reported:
                    continue
                if blamed(history, crossing)[0] == "detach":
                    continue
                if _gets_nothing(history, backward, *found):
                    reported.add(found[0].index)
                    yield _hit(history, backward, crossing, *found)


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


def _hit(
    history: History, backward: Backward, crossing: Crossing, split: Call, piece: Value
) -> Hit:
    cut = crossing.call
    name = history.name(piece, "one piece")
    return Hit(
        f"{name} is a part of what {history.line(split.site)} splits. It reaches the "
        f"loss only through `{history.text(cut.site)}` ({history.line(cut.site)}), "
        "which cuts the graph: the other parts get a gradient, this one none, and "
        "what makes it never learns.",
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
