"""``nn.modules.module``: the hooks that every module runs, and Module itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..._common.handles import RemovableHandle, new_registry, register
from ._state_types import EXTRA_STATE, IncompatibleKeys

if TYPE_CHECKING:
    from ._module import Module as Module

Hook = Callable[..., Any]
_EXTRA_STATE_KEY_SUFFIX = EXTRA_STATE
_IncompatibleKeys = IncompatibleKeys

_MIXED = (
    "Cannot use both regular backward hooks and full backward hooks as a global Module "
    "hook. Please use only one of them."
)

# Tests and tools put fresh tables here, so these names are looked up at each call.
_global_buffer_registration_hooks = new_registry()
_global_module_registration_hooks = new_registry()
_global_parameter_registration_hooks = new_registry()
_global_backward_pre_hooks = new_registry()
_global_backward_hooks = new_registry()
_global_is_full_backward_hook: bool | None = None  # which kind is in use
_global_forward_pre_hooks = new_registry()
_global_forward_hooks = new_registry()
_global_forward_hooks_always_called = new_registry()
_global_forward_hooks_with_kwargs = new_registry()


def has_any_global_hook() -> bool:
    """Tell whether some hook runs on every call of a module."""
    return bool(
        _global_backward_pre_hooks
        or _global_backward_hooks
        or _global_forward_pre_hooks
        or _global_forward_hooks
    )


_has_any_global_hook = has_any_global_hook


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` whenever any module gets a buffer.

    What it returns, unless None, is registered instead.

    >>> from gradtape import nn, zeros
    >>> def show(module, name, buffer):
    ...     print(name)
    >>> with nn.modules.module.register_module_buffer_registration_hook(show):
    ...     nn.Module().register_buffer("mean", zeros(1))
    mean
    """
    return register(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` whenever a submodule is added.

    What it returns, unless None, is registered instead.

    >>> from gradtape import nn
    >>> def show(module, name, submodule):
    ...     print(name)
    >>> with nn.modules.module.register_module_module_registration_hook(show):
    ...     net = nn.Sequential(nn.ReLU())
    0
    """
    return register(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` whenever a parameter is added.

    What it returns, unless None, is registered instead.

    >>> from gradtape import nn
    >>> def show(module, name, parameter):
    ...     print(name)
    >>> with nn.modules.module.register_module_parameter_registration_hook(show):
    ...     layer = nn.Linear(1, 1)
    weight
    bias
    """
    return register(_global_parameter_registration_hooks, hook)


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, args)`` before the forward of every module.

    It runs before the module's own, and may return other arguments.

    >>> import gradtape as torch
    >>> from gradtape import nn
    >>> def double(module, args):
    ...     return args[0] * 2
    >>> with nn.modules.module.register_module_forward_pre_hook(double):
    ...     nn.Identity()(torch.ones(1))
    tensor([2.])
    """
    return register(_global_forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after the forward of every module.

    It runs before the module's own, and may return another output. With
    ``with_kwargs`` it takes the keyword arguments before the output; with
    ``always_call`` it runs after errors too.

    >>> import gradtape as torch
    >>> from gradtape import nn
    >>> def add_one(module, args, output):
    ...     return output + 1
    >>> with nn.modules.module.register_module_forward_hook(add_one):
    ...     nn.Identity()(torch.ones(1))
    tensor([2.])
    """
    handle = RemovableHandle(
        _global_forward_hooks, extra_dict=_global_forward_hooks_always_called
    )
    _global_forward_hooks[handle.id] = hook
    if with_kwargs:
        _global_forward_hooks_with_kwargs[handle.id] = True
    if always_call:
        _global_forward_hooks_always_called[handle.id] = True
    return handle


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` before the backward of every module."""
    return register(_global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` for every module.

    Raises RuntimeError where hooks of the older kind are in use.

    >>> import gradtape as torch
    >>> from gradtape import nn
    >>> def show(module, grad_input, grad_output):
    ...     print(module, grad_output)
    >>> x = torch.ones(1, requires_grad=True)
    >>> with nn.modules.module.register_module_full_backward_hook(show):
    ...     nn.ReLU()(x).backward()
    ReLU() (tensor([1.]),)
    """
    return _add_backward_hook(hook, full=True)


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` of each module's last node.

    The older kind: it misses what other nodes of the module do. Raises RuntimeError
    where full hooks are in use.
    """
    return _add_backward_hook(hook, full=False)


def _add_backward_hook(hook: Hook, full: bool) -> RemovableHandle:
    global _global_is_full_backward_hook  # noqa: PLW0603 - PyTorch's name for it
    if _global_is_full_backward_hook is (not full):
        raise RuntimeError(_MIXED)
    _global_is_full_backward_hook = full
    return register(_global_backward_hooks, hook)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Return Module, which is made of what stands here."""
        if name == "Module":
            from ._module import Module

            return Module
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
