"""GV804: a custom forward changes its input in place and does not say so.

What it does
    Finds inputs that require grad and whose memory ``forward`` wrote, without
    ``ctx.mark_dirty``.
Why is this bad
    Autograd goes on with the history of the old value: the gradient of the change is
    lost, or saved tensors are wrong without an error.
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

from gradviz.dependence.nesting import within
from gradviz.diagnosis.edits.leaves import marked_dirty
from gradviz.diagnosis.edits.writes import receiver
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, CustomFunction, History, Value


@rule("GV804", "custom-fn-missing-mark-dirty", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield the writes of forward to unmarked inputs."""
    silent = {
        each.name: each
        for each in history.program.functions
        if each.forward is not None and "mark_dirty" not in each.forward.co_names
    }
    for outer in history.calls if silent else ():
        inside = within(history).get(outer.index, ()) if outer.op in silent else ()
        for call in inside:
            written = {write.storage for write in call.writes}
            for value in outer.inputs:
                if value.requires_grad and value.storage in written:
                    yield _hit(history, silent[outer.op], outer, call, value)


def _hit(
    history: History, custom: CustomFunction, outer: Call, write: Call, value: Value
) -> Hit:
    x = receiver(history, write.site).partition("[")[0]
    x, what = (x, f"`{x}`") if x.isidentifier() else ("…", "that input")
    return Hit(
        f"{custom.name}.forward changes its input {history.name(value, 'tensor')} in "
        f"place (`{history.text(write.site)}`, {history.line(write.site)}), but does "
        f"not call ctx.mark_dirty: autograd does not know of the change.",
        culprit=write.site,
        fix=f"Call `ctx.mark_dirty({x})` in forward, and return {what}.",
        symptom=outer.site,
        related=(Related("applied here", outer.site),),
        nodes=outer.nodes,
        tensors=(value.tensor,),
        edit=marked_dirty(write.site),
    )
