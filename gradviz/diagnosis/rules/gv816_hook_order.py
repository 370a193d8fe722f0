"""GV816: ``.grad`` of a retained tensor is what its hooks made of the gradient.

What it does
    Notes tensors with ``retain_grad`` whose hooks replaced the gradient.
Why is this bad
    It is no mistake, but a surprise: ``retain_grad`` sees the gradient after all hooks
    of the tensor, also after those that were registered later.
Example
    ``h.retain_grad(); h.register_hook(lambda g: g * 10)``
Use instead
    A hook that stores the gradient, registered before the others.
When it stays quiet
    No hook returns another gradient.
References
    pytorch/pytorch#61446.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import History, HookRan, HookRegistered


@rule("GV816", "hook-order", "info")
def check(history: History) -> Iterator[Hit]:
    """Yield the retained tensors whose gradient a hook replaced."""
    replaced = {event.hook for event in history.of(HookRan) if event.returned}
    retained = {
        value.tensor: call
        for call in history.calls
        if call.op == "retain_grad"
        for value in call.inputs[:1]
        if not value.is_leaf
    }
    for hook in history.of(HookRegistered):
        call = retained.get(hook.value.tensor) if hook.value is not None else None
        if hook.kind != "tensor" or hook.hook not in replaced or call is None:
            continue
        yield Hit(
            f"The hook of {history.line(hook.site)} replaces the gradient of "
            f"{history.name(hook.value or 0, 'this tensor')}, whose .grad "
            f"{history.line(call.site)} keeps: .grad holds what all hooks have made of "
            "the gradient, not the gradient as it came.",
            culprit=hook.site,
            fix="To see the gradient as it came, store it in a hook registered before "
            "this one.",
            related=(Related("kept here", call.site),),
        )
