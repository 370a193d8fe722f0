"""Gradients are clipped of no parameter at all.

What it does
    Finds ``clip_grad_norm_`` and ``clip_grad_value_`` with an empty collection, where
    the step that follows applies gradients.

Why is this bad
    ``model.parameters()`` is an iterator: it can be walked once. Kept in a variable
    that an optimizer has used up, it is empty for everybody else. The clipping does
    nothing, returns a norm of 0, and says nothing.

Example
    ::

        params = model.parameters()
        optimizer = torch.optim.SGD(params, lr=0.1)
        torch.nn.utils.clip_grad_norm_(params, 1.0)

Use instead
    ::

        params = list(model.parameters())
        optimizer = torch.optim.SGD(params, lr=0.1)
        torch.nn.utils.clip_grad_norm_(params, 1.0)

When it stays quiet
    Where no step with gradients follows.

References
    https://pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.diagnosis.edits.training import listed_once
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import History, RawSite, following


@rule("GV662", "clip-of-nothing", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that clips nothing."""
    told: set[RawSite | None] = set()
    steps = [
        each
        for each in learning.steps(history)
        if any(state.has_grad for state in each.states)
    ]
    for call in history.calls:
        empty = call.op.startswith("clip_grad") and not call.inputs and not call.error
        step = next(iter(following(steps, call.index)), None) if empty else None
        if step is None or call.site in told:
            continue
        told.add(call.site)
        yield Hit(
            f"`{history.text(call.site) or call.op}` got no parameters: nothing is "
            f"clipped, and {history.line(step.site)} applies the gradients as they "
            "are. An iterator such as `model.parameters()` is empty once an optimizer "
            "or a loop has walked it.",
            call.site,
            "Pass `model.parameters()` anew, or keep `list(model.parameters())`.",
            symptom=step.site,
            edit=listed_once(call.site),
            related=(Related("applied here, unclipped", step.site),),
        )
