"""A gradient is asked to be kept after the pass that dropped it.

What it does
    Finds calls of ``retain_grad()`` on a tensor after the last backward pass through
    it.

Why is this bad
    The gradient was dropped when the pass went by. The call asks for the next one, and
    there is none: ``.grad`` stays None.

Example
    ::

        loss.backward()
        h.retain_grad()

Use instead
    ::

        h.retain_grad()
        loss.backward()

When it stays quiet
    Where another backward pass through the tensor follows, or none came before.

References
    https://pytorch.org/docs/stable/generated/torch.Tensor.retain_grad.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis.edits.statements import moved
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._lifetime import (
    made_at,
    name_of,
    none_ended_run,
    passes_through,
)
from gradviz.program import Backward, Call, History, Value


@rule("GV210", "retain-grad-too-late", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per retain_grad() that no backward pass followed."""
    for call in history.calls:
        if call.op != "retain_grad" or call.error or not call.inputs:
            continue
        value = call.inputs[0]
        before = _pass_before(history, call, value)
        if before is None:
            continue
        read = _read_after(history, call, value)
        yield Hit(
            f"`retain_grad()` of {name_of(history, value)} comes too late: the "
            f"backward pass in {history.line(before.site)} has dropped the gradient, "
            "so .grad stays None.",
            call.site,
            "Call `retain_grad()` on this tensor before backward().",
            symptom=None if read is None else read.site,
            related=(
                Related("backward pass", before.site),
                Related("tensor computed here", made_at(history, value)),
            ),
            tensors=(value.tensor,),
            edit=moved(call.site, before.site, safe=True),
            explains=read is not None and none_ended_run(history),
        )


def _pass_before(history: History, call: Call, value: Value) -> Backward | None:
    """Return the last pass through a tensor, unless one follows the call."""
    if value.node is None or value.is_leaf:
        return None
    passes = passes_through(history, value.node)
    return passes[-1] if passes and passes[-1].index < call.index else None


def _read_after(history: History, call: Call, value: Value) -> Call | None:
    for use in history.uses(value.tensor):
        if use.op == "grad.get" and use.index > call.index:
            return use
    return None
