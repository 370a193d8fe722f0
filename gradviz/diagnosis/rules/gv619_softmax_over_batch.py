"""A softmax runs over the batch instead of the classes.

What it does
    Finds ``softmax`` and ``log_softmax`` whose result has one target for each element
    of the dimension that they ran over: in ``nll_loss``, a ``gather`` or an index of
    one class per row, or where the class that ``argmax`` chose is compared with the
    target.

Why is this bad
    The samples of a batch compete with each other, not the classes. The loss is a
    number and falls, but the model never learns to choose a class, and its output
    depends on what else is in the batch.

Example
    ::

        log_p = torch.log_softmax(net(x), dim=0)
        loss = F.nll_loss(log_p, target)

Use instead
    ::

        loss = F.cross_entropy(net(x), target)

When it stays quiet
    Where the dimension is that of the classes, for targets that are shares rather than
    classes, for tables of pairs that are compared with a count, and for attention,
    which may weigh any dimension.

References
    https://pytorch.org/docs/stable/generated/torch.nn.NLLLoss.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence.axes import Axis, axes_in
from gradviz.dependence.axis_facts import Axes, Meeting
from gradviz.dependence.axis_walk import axes_of, over
from gradviz.dependence.flow import dimension, words
from gradviz.dependence.op_families import CONSTANTS, of_op, plain
from gradviz.diagnosis.decisions.decision import of_setting
from gradviz.diagnosis.edits.shapes import over_dimension
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._classes import of_classes, weights_of
from gradviz.program import Call, History, RawSite, Value

_LAYERS = ("Softmax", "LogSoftmax", "Softmin")
_INDEXING = ("gather", "getitem")
_PICKING = words("nll_loss nll_loss_nd nll_loss2d gather getitem eq")


@rule("GV619", "softmax-over-batch", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per softmax that does so."""
    axes = history.once(axes_of)
    told = set[RawSite | None]()
    for made, loss, classes in (*_picked(history, axes), *_over_rows(history, axes)):
        if made.site not in told:
            told.add(made.site)
            yield _hit(history, made, loss, classes)


def _picked(history: History, axes: Axes) -> Iterator[tuple[Call, Call, int]]:
    """Yield softmaxes from which targets pick along the batch, loss and classes."""
    for meeting in axes.meetings:
        op = plain(meeting.call.op)
        if op not in _PICKING:
            continue
        for side in [meeting, meeting.turned()] if op == "eq" else [meeting]:
            if op in _INDEXING and _is_constant(axes, side.other):
                continue
            made = _softmax(axes, side)
            if made is not None and not _is_over_classes(history, axes, made):
                yield made, meeting.call, _classes(axes, meeting, made)


def _over_rows(history: History, axes: Axes) -> Iterator[tuple[Call, Call, int]]:
    """Yield softmaxes over the rows of scores whose columns a loss takes for classes.

    Of the same layer, also in another model's training: soft targets of a teacher.
    """
    layers = of_classes(history)
    for call in history.calls if layers else ():
        if of_op(call.op) != "softmax" or not call.inputs or call.error is not None:
            continue
        scores = axes.of(call.inputs[0])
        if len(scores) == 2 and over(call) == 0:
            known = weights_of(scores[1]) & layers.keys()
            if known and not weights_of(scores[0]):
                yield call, layers[min(known)], 1


def _softmax(axes: Axes, side: Meeting) -> Call | None:
    """Return the softmax over a dimension that has a target for each element."""
    if "int" not in side.other.dtype or not _is_given(axes, side.other):
        return None
    for factor in [factor for dim, _ in side.pairs for factor in dim]:
        how, made = factor.axes[0].how, factor.axes[0].call
        same = all((each.how, each.call) == (how, made) for each in factor.axes)
        if made is not None and how == "normalised" and same:
            return made if _is_as_made(axes, side.one, made) else None
    return None


def _is_over_classes(history: History, axes: Axes, made: Call) -> bool:
    """Tell whether a loss shows that a softmax runs over classes after all."""
    dim = axes.of(made.outputs[0])[over(made)]
    return bool(weights_of(dim) & of_classes(history).keys())


def _classes(axes: Axes, meeting: Meeting, made: Call) -> int:
    """Return the dimension of a softmax that holds the classes."""
    call, dims = meeting.call, axes.of(made.outputs[0])
    rank = len(dims)
    given = axes.of(meeting.one)
    place = 1 if len(given) > 1 else 0
    if plain(call.op) == "gather":
        place = (dimension(call) or 0) % max(len(given), 1)
    held = set(axes_in(given[place])) if place < len(given) else set[Axis]()
    found = [i for i, dim in enumerate(dims) if held.intersection(axes_in(dim))]
    if plain(call.op) == "eq" or not found:
        return 1 - over(made) % rank if rank == 2 else rank - 1
    return found[0]


def _is_given(axes: Axes, target: Value) -> bool:
    """Tell whether targets are classes that came in, as opposed to a count of rows."""
    roots = [axis.root for dim in axes.of(target) for axis in axes_in(dim)]
    made = [each.call for each in roots]
    return all(
        each.how == "given" and (call is None or call.op != "arange")
        for each, call in zip(roots, made, strict=True)
    )


def _is_constant(axes: Axes, index: Value) -> bool:
    """Tell whether an index holds one number all over: rows, and no classes."""
    made = [axis.root.call for dim in axes.of(index) for axis in axes_in(dim)]
    return all(call is not None and plain(call.op) in CONSTANTS for call in made)


def _is_as_made(axes: Axes, guess: Value, made: Call) -> bool:
    """Tell whether nothing but single elements were worked on since a softmax."""
    known = {axis for dim in axes.of(made.outputs[0]) for axis in axes_in(dim)}
    return all(not known.isdisjoint(axes_in(dim)) for dim in axes.of(guess) if dim)


def _hit(history: History, made: Call, loss: Call, classes: int) -> Hit:
    shape = tuple(made.inputs[0].shape)
    chosen = of_setting(history, made, _LAYERS, 0, ("dim",))
    return Hit(
        f"`{made.op}` runs over dimension {over(made)} of shape {shape}, and "
        f"`{loss.op}` in {history.line(loss.site)} takes the classes from dimension "
        f"{classes}: the samples of the batch compete with each other, not the "
        "classes.",
        chosen.site,
        f"Write `dim={classes}`, or give the scores to `cross_entropy`, which does "
        "both.",
        symptom=loss.site,
        edit=None if chosen.is_elsewhere else over_dimension(chosen.site, classes),
        line=chosen.line,
        related=(
            Related("the classes are taken here", loss.site),
            Related("runs here", made.site),
        ),
    )
