"""A hook returned what cannot take the place of its gradient.

What it does
    Explains the refusal, and names the hook whose result has another shape, another
    dtype, or is no tensor at all.

Why is this bad
    What a hook returns replaces the gradient, and the backward pass goes on with it: it
    must have the gradient's shape, dtype and device. A hook that only looks returns
    nothing.

Example
    ::

        h.register_hook(lambda grad: grad.mean(0))

Use instead
    ::

        h.register_hook(lambda grad: grad - grad.mean(0))

When it stays quiet
    For hooks that return None, and for results that fit.

References
    https://pytorch.org/docs/stable/generated/torch.Tensor.register_hook.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gradviz.diagnosis.custom_functions import return_place
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Backward, History, HookRan, HookRegistered

_SIZE = re.compile(r"hook '(.+)' has changed the size of value")
_TYPE = re.compile(r"hook '(.+)' has changed the type of value(?: \((.+)\))?")
_KIND = re.compile(r"hook returned '(.+)'")
_OF_MODULES = "module_full_backward", "module_full_backward_pre"
_COUNT = re.compile(r"hook returned an invalid number of grad_\w+, (.+)")


@rule("GV817", "hook-result-refused", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield the passes that such a result ended."""
    for event in history.backwards:
        why = _reason(event.error or "")
        hook = None if not why else _last_run(history, event)
        if hook is not None:
            yield _hit(history, event, hook, why)


def _reason(error: str) -> str:
    """Return what is wrong with the result, in words; "" for another error."""
    if _SIZE.search(error):
        return "a gradient of another shape than it was given"
    if found := _TYPE.search(error):
        return "a gradient of another type" + (f" ({found[2]})" if found[2] else "")
    if found := _KIND.search(error):
        return f"an object of type {found[1]}, which is no tensor"
    if found := _COUNT.search(error):
        return f"another number of gradients than it was given ({found[1]})"
    return ""


def _last_run(history: History, event: Backward) -> HookRegistered | None:
    """Return the hook that ran last: its result ended the pass.

    A module's hook is called by one of the library's, put on where the module runs.
    """
    ran = [each for each in history.of(HookRan) if each.index > event.index]
    hooks = {each.hook: each for each in history.of(HookRegistered)}
    last = hooks.get(ran[-1].hook) if ran else None
    if last is not None and "register" in history.text(last.site):
        return last
    of_modules = [each for each in hooks.values() if each.kind in _OF_MODULES]
    return of_modules[0] if len(of_modules) == 1 else last


def _hit(history: History, event: Backward, hook: HookRegistered, why: str) -> Hit:
    site, line = return_place(history, hook.code)
    of = "" if hook.value is None else f" of {history.name(hook.value, 'a tensor')}"
    shape = "" if hook.value is None else f" (shape {list(hook.value.shape)})"
    return Hit(
        f"The hook{of}{shape}, registered in {history.line(hook.site)}, returned "
        f"{why}. What a hook returns takes the place of the gradient, so it must have "
        "its shape, dtype and device.",
        culprit=hook.site if site is None else site,
        line=line,
        fix="Return a gradient like the given one (`keepdim=True`, `.expand_as(grad)`, "
        "`.to(grad.dtype)`), or nothing (None) if the hook only looks.",
        symptom=event.site,
        related=(Related("hook registered here", hook.site),),
        tensors=() if hook.value is None else (hook.value.tensor,),
        explains=history.ended_by(event),
    )
