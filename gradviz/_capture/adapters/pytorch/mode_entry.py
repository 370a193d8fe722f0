"""A shorter way into the function mode, for the functions that PyTorch has in Python.

``relu``, ``cross_entropy`` or ``Tensor.backward`` ask ``handle_torch_function``, which
collects the classes of all arguments and steps out of the mode with a generator. Where
our mode is the innermost one and all tensors are PyTorch's own, neither is needed.
"""

from __future__ import annotations

from typing import Any

from gradviz._capture.training_loop.patches import Patches, unseen

_NAME = "handle_torch_function"


def shorten_entry(torch: Any, mode: Any, patches: Patches) -> None:
    """Let the modules that call PyTorch's own function call a shorter one."""
    handle = _shorter(torch, mode)
    for module in (torch.nn.functional, torch.functional, torch._tensor):
        if getattr(module, _NAME, None) is torch.overrides.handle_torch_function:
            patches.set(module, _NAME, handle)


def _shorter(torch: Any, mode: Any) -> Any:
    original = torch.overrides.handle_torch_function
    ordinary = frozenset({torch.Tensor, torch.nn.Parameter, type(None)})
    depth, at = torch._C._len_torch_function_stack, torch._C._get_function_stack_at
    pop = torch._C._pop_torch_function_stack
    push = torch._C._push_on_torch_function_stack
    run = mode.__torch_function__

    @unseen
    def handle_torch_function(
        public_api: Any, relevant_args: Any, *args: Any, **kwargs: Any
    ) -> Any:
        __tracebackhide__ = True
        count = depth()
        if (
            not count
            or at(count - 1) is not mode
            or type(relevant_args) is not tuple
            or not ordinary.issuperset(map(type, relevant_args))
        ):
            return original(public_api, relevant_args, *args, **kwargs)
        pop()
        try:
            result = run(public_api, (), args, kwargs)
        finally:
            push(mode)
        if result is NotImplemented:  # it is for PyTorch to say so
            return original(public_api, relevant_args, *args, **kwargs)
        return result

    return handle_torch_function
