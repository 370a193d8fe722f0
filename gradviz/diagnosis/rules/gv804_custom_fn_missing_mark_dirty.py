"""GV804: a custom forward changes its input in place and does not say so.

What it does
    Finds inputs that require grad and whose memory ``forward`` wrote, without
    ``ctx.mark_dirty``.
Why is this bad
    Autograd goes on with the history of the old value: the gradient of the change is
    lost, or saved tensors are wrong without an error. A later write to the result is
    refused: it counts as a view of the input.
Example
    ``x.mul_(2); return x`` in ``forward``
Use instead
    ``x.mul_(2); ctx.mark_dirty(x); return x``, or ``return x * 2``
When it stays quiet
    The input is marked, or needs no gradient, as running statistics do.
References
    pytorch/pytorch#133491.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis._raised import Failure
from gradviz.diagnosis._refused import MADE_IN_FUNCTION, refused, subject
from gradviz.diagnosis._words import place
from gradviz.diagnosis.custom_functions import UnmarkedWrite, unmarked_writes
from gradviz.diagnosis.edits.leaves import marked_dirty
from gradviz.diagnosis.edits.writes import receiver
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import History, Value


@rule("GV804", "custom-fn-missing-mark-dirty", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield the writes of forward to unmarked inputs."""
    found = unmarked_writes(history)
    failed = refused(history, *MADE_IN_FUNCTION) if found else ()
    refusals = [(failure, written) for failure, written, _ in failed]
    for each in found:
        later = (row for row in refusals if each.is_of(row[1]))
        yield _hit(history, each, next(later, None))


def _hit(
    history: History,
    found: UnmarkedWrite,
    refusal: tuple[Failure, Value | None] | None,
) -> Hit:
    write, applied = found.write, found.applied
    x = receiver(history, write.site).partition("[")[0]
    x, what = (x, f"`{x}`") if x.isidentifier() else ("…", "that input")
    failure, later = None, ""
    if refusal is not None:
        failure, written = refusal
        later = (
            f" So it takes {subject(history, written)} for a mere view of that input, "
            f"and forbids {place(history, failure.site)}."
        )
    return Hit(
        f"{found.custom.name}.forward changes its input "
        f"{history.name(found.value, 'tensor')} in place "
        f"(`{history.text(write.site)}`, {history.line(write.site)}), but does not "
        f"call ctx.mark_dirty: autograd does not know of the change.{later}",
        culprit=write.site,
        fix=f"Call `ctx.mark_dirty({x})` in forward, and return {what}. Or compute "
        "the result out of place.",
        symptom=applied.site if failure is None else failure.site,
        related=(
            Related("applied here", applied.site),
            Related("refused here", None if failure is None else failure.site),
        ),
        nodes=applied.nodes,
        tensors=(found.value.tensor,),
        explains=failure is not None and failure.ended,
        edit=marked_dirty(write.site),
    )
