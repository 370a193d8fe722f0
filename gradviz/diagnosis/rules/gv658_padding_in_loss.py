"""A loss counts the padding of its targets.

What it does
    Finds ``cross_entropy`` and ``nll_loss`` of targets that were filled up to one
    length with a number that the loss does not ignore.

Why is this bad
    Padding is counted as a class like any other, and often is the most frequent one.
    The loss falls fast, for padding is easy to predict, and the mean says little about
    what is real.

Example
    ::

        targets = pad_sequence(tags, batch_first=True)  # filled up with 0
        loss = F.cross_entropy(scores.flatten(0, 1), targets.flatten())

Use instead
    ::

        loss = F.cross_entropy(
            scores.flatten(0, 1), targets.flatten(), ignore_index=0
        )

When it stays quiet
    The loss ignores that number, or what became of it (``targets - 1``), weighs
    classes, or gives one loss for each element to be masked; rows are of one length,
    or were picked by a mask; padding was replaced by another number.

References
    https://pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence.axes import axes_in
from gradviz.dependence.axis_facts import Axes, Meeting, Padding
from gradviz.dependence.axis_walk import axes_of
from gradviz.dependence.flow import words
from gradviz.dependence.lineage import behind
from gradviz.dependence.op_families import (
    CLASS_LOSSES,
    CONSTANTS,
    JOINS,
    MOVES,
    PICKS,
    numbers_in,
    plain,
)
from gradviz.diagnosis._words import tensor_words
from gradviz.diagnosis.decisions.decision import of_setting
from gradviz.diagnosis.edits.calls import with_keyword
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, RawSite, Value

_LAYERS = words("CrossEntropyLoss NLLLoss")
_IGNORED = -100  # by default
_AS_IT_IS = MOVES | PICKS | JOINS | CONSTANTS | {"setitem", "tensor"}
"""What leaves padding what it is; the last of them, where the rows are written."""


@rule("GV658", "padding-in-loss", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per loss that counts it."""
    axes = history.once(axes_of)
    told = set[RawSite | None]()
    for meeting in axes.meetings:
        call = meeting.call
        if plain(call.op) not in CLASS_LOSSES or call.site in told or _is_weighed(call):
            continue
        padding = _padding(axes, meeting)
        fill = None if padding is None else _fill(history, call, meeting.other, padding)
        if padding is not None and fill is not None and fill != _ignored(call):
            told.add(call.site)
            yield _hit(history, call, meeting.other, padding, fill)


def _is_weighed(call: Call) -> bool:
    weight = call.keywords.get("weight", *call.arguments[2:3])
    return isinstance(weight, Value) or "none" in (
        call.keywords.get("reduction"), *call.arguments
    )  # fmt: skip


def _ignored(call: Call) -> float:
    given = call.keywords.get("ignore_index")
    numbers = [each for each in call.arguments[2:] if type(each) is int]
    given = given if given is not None else next(iter(numbers), _IGNORED)
    return given if isinstance(given, int) else _IGNORED


def _padding(axes: Axes, meeting: Meeting) -> Padding | None:
    """Return what filled the targets up, if all of it is still there."""
    if "int" not in meeting.other.dtype:
        return None
    for _, dim in meeting.pairs:
        for axis in axes_in(dim):
            known = [axes.padded[each] for each in axis.behind() if each in axes.padded]
            whole = all(each.what == "slice" for each in axis.moves)
            if known and whole and known[0].fill is not None:
                return known[0]
    return None


def _fill(history: History, loss: Call, target: Value, padding: Padding) -> int | None:
    """Return which number stands for padding once it comes to the loss.

    Classes may be counted from another number on; None where something else was done.
    """
    fill = padding.fill or 0.0
    for call in behind(history, target, loss.index):
        name = plain(call.op)
        shifts = [each for each in numbers_in(call) if type(each) is int]
        if call is padding.call:
            break
        if name in ("add", "radd", "sub") and len(call.inputs) == len(shifts) == 1:
            fill += -shifts[0] if name == "sub" else shifts[0]
        elif name not in _AS_IT_IS:
            return None
    return int(fill)


def _hit(
    history: History, call: Call, target: Value, padding: Padding, fill: int
) -> Hit:
    site = of_setting(history, call, _LAYERS, 2, ("ignore_index",)).site
    number = int(padding.fill or 0)
    return Hit(
        f"{tensor_words(history, target)} was filled up with {number} in "
        f"{history.line(padding.call.site)}, to rows of one length, and "
        f"{history.quoted(call.site)} counts the padding as class {fill}.",
        site,
        f"Leave it out: `ignore_index={fill}`.",
        symptom=call.site,
        related=(Related("filled up here", padding.call.site),),
        tensors=(target.tensor,),
        edit=with_keyword(site, "ignore_index", str(fill), of=_LAYERS | CLASS_LOSSES),
        certainty=0.7,
    )
