"""Module: the base class of everything that has parameters and a forward."""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

from ..._graph.observe import ModuleEntered, ModuleLeft, full_observers, notify
from ..._graph.scope import Scope
from ..._modes.grad_mode import mode
from ...compiler import compile as compile_nothing
from ._hooks import Hooked
from .module import has_any_global_hook

M = TypeVar("M", bound="Module")

_REPLICA = (
    "Calling .zero_grad() from a module created with nn.DataParallel() has no effect. "
    "The parameters are copied (in a differentiable manner) from the original module. "
    "This means they are not leaf nodes in autograd and so don't accumulate gradients. "
    "If you need gradients in your forward method, consider using autograd.grad "
    "instead."
)


class Module(Hooked):
    """A piece of a model: parameters, buffers, submodules and a ``forward``.

    Assigning a Parameter or a Module to an attribute registers it.

    >>> import gradtape as torch
    >>> class Twice(torch.nn.Module):
    ...     def forward(self, x):
    ...         return 2 * x
    >>> Twice()(torch.ones(2))
    tensor([2., 2.])
    """

    dump_patches: bool = False
    call_super_init: bool = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and kwargs:
            raise TypeError(
                f"{type(self).__name__}.__init__() got an unexpected keyword argument "
                f"'{next(iter(kwargs))}'"
            )
        if not self.call_super_init and args:
            raise TypeError(
                f"{type(self).__name__}.__init__() takes 1 positional argument but "
                f"{len(args) + 1} were given"
            )
        own = self.__dict__
        own["training"] = True
        own["_parameters"] = {}
        own["_buffers"] = {}
        own["_non_persistent_buffers_set"] = set()
        own["_modules"] = {}
        self._fill_hook_tables()
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run forward with its hooks; nodes recorded inside carry this call's scope."""
        outer = mode.scope
        mode.scope = scope = Scope(self, outer)
        if full_observers:
            notify(ModuleEntered(scope))
        try:
            if (
                self._forward_pre_hooks
                or self._forward_hooks
                or self._backward_hooks
                or self._backward_pre_hooks
                or has_any_global_hook()
            ):
                return self._call_hooked(args, kwargs)
            return self.forward(*args, **kwargs)
        finally:
            mode.scope = outer
            if full_observers:
                notify(ModuleLeft(scope))

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Ask for a compiled forward; it runs unchanged, as compile() warns once."""
        compile_nothing(self, *args, **kwargs)

    # ---- training ----

    def train(self: M, mode: bool = True) -> M:
        """Set training mode on this module and all below; dropout and norms differ."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self: M) -> M:
        """Set evaluation mode: ``train(False)``."""
        return self.train(False)

    def requires_grad_(self: M, requires_grad: bool = True) -> M:
        """Switch gradients for all parameters on or off."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop all gradients, or fill them with zeros."""
        if getattr(self, "_is_replica", False):
            warnings.warn(_REPLICA, UserWarning, stacklevel=2)
        for parameter in self.parameters():
            reset_grad(parameter, set_to_none)

    # ---- text ----

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Return what stands between the parentheses of the printed module."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        extra_lines = extra.split("\n") if extra else []
        child_lines = [
            f"({name}): {indent(repr(module))}"
            for name, module in self._modules.items()
        ]
        if len(extra_lines) == 1 and not child_lines:
            return f"{self._get_name()}({extra_lines[0]})"
        if extra_lines or child_lines:
            body = "\n  ".join([*extra_lines, *child_lines])
            return f"{self._get_name()}(\n  {body}\n)"
        return f"{self._get_name()}()"

    # ---- copying ----

    def _replicate_for_data_parallel(self: M) -> M:
        """Return a copy that shares its buffers and has no parameters of its own."""
        replica = self.__new__(type(self))
        own = self.__dict__
        tables = {name: own[name].copy() for name in ("_buffers", "_modules")}
        replica.__dict__ = {**own, **tables, "_parameters": {}, "_is_replica": True}
        return replica

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self._fill_hook_tables()


def indent(text: str) -> str:
    """Indent all lines but the first by two spaces; blank lines stay empty."""
    first, *rest = text.split("\n")
    return "\n".join([first, *("  " + line if line.strip() else "" for line in rest)])


def reset_grad(tensor: Any, set_to_none: bool) -> None:
    """Drop the gradient of one tensor, or fill it with zeros without history."""
    gradient = tensor._grad
    if gradient is None:
        return
    if set_to_none:
        tensor._grad = None
    else:
        if gradient.grad_fn is not None:
            gradient.detach_()
        else:
            gradient.requires_grad_(False)
        gradient.zero_()


__all__ = ["Module", "indent", "reset_grad"]
