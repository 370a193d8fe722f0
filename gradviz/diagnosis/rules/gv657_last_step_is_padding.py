"""The last step of padded sequences is taken: of the shorter ones it is padding.

What it does
    Finds ``out[:, -1]`` of what a sequence layer gave for rows that were filled up to
    one length, by ``pad_sequence`` or row by row, and what ``pad_packed_sequence``
    fills up in a result.

Why is this bad
    Only the longest row ends there. After ``pad_packed_sequence`` the others give
    zeros; without packing they give what the layer made of the padding.

Example
    ::

        out, _ = pad_packed_sequence(lstm(packed)[0], batch_first=True)
        last = out[:, -1]

Use instead
    ::

        last = out[torch.arange(len(out)), lengths - 1]

When it stays quiet
    Rows of one length, padding before the rows, and steps that are picked by lengths.

References
    https://pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pad_packed_sequence.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence.axes import Axis, axes_in
from gradviz.dependence.axis_facts import Axes, Padding
from gradviz.dependence.axis_walk import axes_of
from gradviz.diagnosis._words import variable
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, RawSite


@rule("GV657", "last-step-is-padding", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that takes it."""
    axes = history.once(axes_of)
    told = set[RawSite | None]()
    for pick in axes.picks:
        if pick.size < 2 or pick.number not in (-1, pick.size - 1):
            continue
        padding = next(
            filter(None, (_padded(axes, each) for each in axes_in(pick.dim))), None
        )
        if padding is not None and pick.call.site not in told:
            told.add(pick.call.site)
            yield _hit(history, pick.call, pick.size, padding)


def _padded(axes: Axes, axis: Axis) -> Padding | None:
    """Return what filled the end of an axis up that a layer went along."""
    found = next((axes.padded[e] for e in axis.behind() if e in axes.padded), None)
    if found is None or not found.is_right or axis.moves:
        return None
    scanned = any(each.how == "scanned" for each in axis.behind())
    return found if scanned or found.packed else None


def _hit(history: History, call: Call, size: int, padding: Padding) -> Hit:
    name = variable(history, call.inputs[0]) or "out"
    gives = (
        "zeros, which no step of theirs gave"
        if padding.packed
        else "what the layer made of the padding"
    )
    return Hit(
        f"`{history.text(call.site)}` takes the last of {size} steps, "
        f"and the rows were filled up to that length in "
        f"{history.line(padding.call.site)}: of the shorter ones this is {gives}.",
        call.site,
        "Take the last step of each row by its length: "
        f"`{name}[torch.arange(len({name})), lengths - 1]`, or the hidden state that "
        "the layer returns for packed rows.",
        symptom=call.site,
        related=(Related("filled up here", padding.call.site),),
        tensors=(call.inputs[0].tensor,),
        certainty=0.8 if padding.packed else 0.6,
    )
