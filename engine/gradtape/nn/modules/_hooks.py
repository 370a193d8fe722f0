"""Hooks around a module's forward and backward: registering them, calling them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..._hooks import RemovableHandle, new_registry
from ._backward_hook import BackwardHook, register_module_node_hook
from ._state import State

_MIXED = (
    "Cannot use both regular backward hooks and full backward hooks {where}. Please "
    "use only one of them."
)
_SILENCED = (
    "{kind} forward hook with ``always_call=True`` raised an exception that was "
    "silenced as another error was raised in forward: {error}"
)
_NO_TENSOR_OUTPUT = (
    "For backward hooks to be called, module output should be a Tensor or a tuple of "
    "Tensors but received {kind}"
)


class HookTables:
    """The hooks of one module, or those of all modules."""

    __slots__ = ("always", "backward", "backward_pre", "full", "kwargs", "post", "pre")

    def __init__(self) -> None:
        self.pre: dict[int, Any] = new_registry()
        self.post: dict[int, Any] = new_registry()
        self.backward_pre: dict[int, Any] = new_registry()
        self.backward: dict[int, Any] = new_registry()
        self.kwargs: set[int] = set()  # ids of hooks that also take the kwargs
        self.always: set[int] = set()  # ids of hooks that run after errors too
        self.full: bool | None = None  # which kind of backward hook is in use


everywhere = HookTables()
"""Hooks that every module runs."""


def any_global_hook() -> bool:
    """Tell whether some hook runs on every module."""
    hooks = everywhere
    return bool(hooks.pre or hooks.post or hooks.backward_pre or hooks.backward)


def _add(table: dict[int, Any], hook: Any, prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(table)
    later = dict(table) if prepend else {}
    if prepend:
        table.clear()
    table[handle.id] = hook
    table.update(later)
    return handle


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, args)`` before the forward of every module."""
    return _add(everywhere.pre, hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after the forward of every module."""
    handle = _add(everywhere.post, hook)
    if with_kwargs:
        everywhere.kwargs.add(handle.id)
    if always_call:
        everywhere.always.add(handle.id)
    return handle


def register_module_full_backward_pre_hook(
    hook: Callable[..., Any],
) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` before the backward of every module."""
    return _add(everywhere.backward_pre, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` for every module."""
    return _add_backward(everywhere, hook, True, "as a global Module hook")


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` of each module's last node."""
    return _add_backward(everywhere, hook, False, "as a global Module hook")


def _add_backward(
    tables: HookTables, hook: Any, full: bool, where: str, prepend: bool = False
) -> RemovableHandle:
    if tables.full is (not full):
        raise RuntimeError(_MIXED.format(where=where))
    tables.full = full
    return _add(tables.backward, hook, prepend)


class Hooked(State):
    """Registration of a module's own hooks, and the call that runs them."""

    _hooks: HookTables

    def register_forward_pre_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before forward; it may return other args."""
        handle = _add(self._hooks.pre, hook, prepend)
        if with_kwargs:
            self._hooks.kwargs.add(handle.id)
        return handle

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` afterwards; it may return a new one."""
        handle = _add(self._hooks.post, hook, prepend)
        if with_kwargs:
            self._hooks.kwargs.add(handle.id)
        if always_call:
            self._hooks.always.add(handle.id)
        return handle

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_output)``; it may return another gradient."""
        return _add(self._hooks.backward_pre, hook, prepend)

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` once both are known."""
        return _add_backward(self._hooks, hook, True, "on a single Module", prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` of the module's last node."""
        return _add_backward(self._hooks, hook, False, "on a single Module")

    # ---- what PyTorch's internals are called ----

    @property
    def _forward_hooks(self) -> dict[int, Any]:
        return self._hooks.post

    @property
    def _forward_pre_hooks(self) -> dict[int, Any]:
        return self._hooks.pre

    @property
    def _backward_hooks(self) -> dict[int, Any]:
        return self._hooks.backward

    @property
    def _backward_pre_hooks(self) -> dict[int, Any]:
        return self._hooks.backward_pre

    # ---- running them ----

    def _call_hooked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call forward with all hooks around it."""
        called: set[int] = set()
        result: list[Any] = [None]  # filled early, for hooks that run after errors
        try:
            return self._forward_between_hooks(args, kwargs, called, result)
        except Exception:
            for tables, kind in (everywhere, "global module"), (self._hooks, "module"):
                for key, hook in tables.post.items():
                    if key in tables.always and key not in called:
                        extra = (kwargs,) if key in tables.kwargs else ()
                        _call_silently(kind, hook, self, args, *extra, result[0])
            raise

    def _forward_between_hooks(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        called: set[int],
        result: list[Any],
    ) -> Any:
        own = self._hooks
        args, kwargs = self._run_pre_hooks(args, kwargs)
        full, partial = self._backward_hook_lists()
        pre = [*everywhere.backward_pre.values(), *own.backward_pre.values()]
        watcher = BackwardHook(self, full, pre) if full or pre else None
        if watcher is not None:
            args = watcher.watch_inputs(args)
        found = result[0] = self.forward(*args, **kwargs)
        for tables in (everywhere, own):
            for key, hook in list(tables.post.items()):
                if key in tables.always:
                    called.add(key)
                extra = (kwargs,) if key in tables.kwargs else ()
                returned = hook(self, args, *extra, found)
                if returned is not None:
                    found = result[0] = returned
        if watcher is not None:
            if not _is_watchable(found):
                warnings.warn(
                    _NO_TENSOR_OUTPUT.format(kind=type(found)),
                    UserWarning,
                    stacklevel=5,
                )
            found = watcher.watch_outputs(found)
        if partial:
            register_module_node_hook(self, partial, args, found)
        return found

    def _run_pre_hooks(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        for tables in (everywhere, self._hooks):
            for key, hook in list(tables.pre.items()):
                if key not in tables.kwargs:
                    returned = hook(self, args)
                    if returned is not None:
                        args = returned if isinstance(returned, tuple) else (returned,)
                    continue
                returned = hook(self, args, kwargs)
                if returned is None:
                    continue
                if not isinstance(returned, tuple) or len(returned) != 2:
                    raise RuntimeError(
                        "forward pre-hook must return None or a tuple of (new_args, "
                        f"new_kwargs), but got {returned}."
                    )
                args, kwargs = returned
        return args, kwargs

    def _backward_hook_lists(self) -> tuple[list[Any], list[Any]]:
        full: list[Any] = []
        partial: list[Any] = []
        for tables in (everywhere, self._hooks):
            (full if tables.full else partial).extend(tables.backward.values())
        return full, partial

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the module's output; every subclass writes its own."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )


def _is_watchable(found: Any) -> bool:
    from ..._tensor import Tensor

    return isinstance(found, (Tensor, tuple))


def _call_silently(kind: str, hook: Any, *args: Any) -> None:
    try:
        hook(*args)
    except Exception as error:
        warnings.warn(
            _SILENCED.format(kind=kind, error=error), UserWarning, stacklevel=5
        )
