"""Only the first sample of a batch is compared, with the targets of all.

What it does
    Finds ``result[0]`` of a batch of results that is then compared with a tensor of the
    whole batch's shape: broadcasting repeats the one sample for all targets.

Why is this bad
    Nothing fails. The model learns from one sample per batch, and towards the mean of
    all targets. It happens where a module was taken for one that returns a tuple.

Example
    ::

        prediction = self.head(hidden)[0]
        loss = (prediction - target).pow(2).mean()

Use instead
    ::

        prediction = self.head(hidden)

When it stays quiet
    The shapes are equal, the batch has one sample, or what it meets comes from the same
    results, as in ``path - path[0]``.

References
    https://pytorch.org/docs/stable/notes/broadcasting.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence.flow import name_of
from gradviz.dependence.op_families import DIFFERENCES, DISTANCES, plain
from gradviz.diagnosis.edits.shapes import without_index
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, RawSite


@rule("GV652", "first-sample-only", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that takes the first sample so."""
    told = set[RawSite | None]()
    for call in history.calls:
        if name_of(call) != "getitem" or call.site in told or not call.outputs:
            continue
        use = _compared(history, call) if _is_first(call) else None
        if use is not None:
            told.add(call.site)
            yield _hit(history, call, use)


def _is_first(call: Call) -> bool:
    given = call.inputs[0]
    several = len(given.shape) > 1 and given.shape[0] > 1
    return several and given.requires_grad and call.arguments[-1] in (0, -1)


def _compared(history: History, call: Call) -> Call | None:
    """Return the call that lines the sample up with targets of the whole batch."""
    batch, sample = call.inputs[0], call.outputs[0]
    for use in history.uses(sample.tensor):
        for other in use.inputs if plain(use.op) in DISTANCES | DIFFERENCES else ():
            if other.shape == batch.shape and not other.requires_grad:
                own = batch.tensor in history.behind([other], before=use.index)
                return None if own else use
    return None


def _hit(history: History, call: Call, use: Call) -> Hit:
    batch = call.inputs[0]
    return Hit(
        f"`{history.text(call.site)}` takes the first of {batch.shape[0]} samples, and "
        f"{history.quoted(use.site)} compares it with a tensor of all of them, of "
        f"shape {batch.shape}: the others get no gradient.",
        call.site,
        "Leave the index out; it picks from the batch, not from a tuple.",
        symptom=use.site,
        edit=without_index(call.site),
        related=(Related("compared here", use.site),),
        tensors=(batch.tensor,),
        certainty=0.7,
    )
