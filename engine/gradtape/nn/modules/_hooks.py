"""Hooks around a module's forward and backward: registering them, calling them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..._common.handles import Registry, RemovableHandle, new_registry, register
from ..._common.site import user_stacklevel
from ..._tensor.tensor import Tensor
from . import module as shared
from ._backward_hook import BackwardHook
from ._partial_hook import register_module_node_hook
from ._state import State

Hook = Callable[..., Any]

_MIXED = (
    "Cannot use both regular backward hooks and full backward hooks on a single "
    "Module. Please use only one of them."
)
_SILENCED = (
    "{kind} forward hook with ``always_call=True`` raised an exception that was "
    "silenced as another error was raised in forward: {error}"
)
_NO_TENSOR_OUTPUT = (
    "For backward hooks to be called, module output should be a Tensor or a tuple of "
    "Tensors but received {kind}"
)
_PRE_HOOK_RETURNED = (
    "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got "
    "{returned}."
)

TABLES = (
    "_backward_pre_hooks",
    "_backward_hooks",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)
"""The tables of a module, by hook number, under PyTorch's names."""


class Hooked(State):
    """Registration of a module's own hooks, and the call that runs them."""

    _backward_pre_hooks: Registry
    _backward_hooks: Registry
    _forward_hooks: Registry
    _forward_hooks_with_kwargs: Registry
    _forward_hooks_always_called: Registry
    _forward_pre_hooks: Registry
    _forward_pre_hooks_with_kwargs: Registry
    _is_full_backward_hook: bool | None  # which kind of backward hook is in use

    def _fill_hook_tables(self) -> None:
        """Make the tables that are not there, which old pickles may lack."""
        own = self.__dict__
        for name in TABLES:
            if name not in own:
                own[name] = new_registry()
        own.setdefault("_is_full_backward_hook", None)

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before forward; it may return other args.

        With ``with_kwargs`` it also takes the keyword arguments, and returns a pair;
        with ``prepend`` it runs before the others.

        >>> import gradtape as torch
        >>> layer = torch.nn.ReLU()
        >>> handle = layer.register_forward_pre_hook(lambda module, args: args[0] * 2)
        >>> layer(torch.ones(1))
        tensor([2.])
        """
        handle = RemovableHandle(
            self._forward_pre_hooks, extra_dict=self._forward_pre_hooks_with_kwargs
        )
        self._forward_pre_hooks[handle.id] = hook
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs[handle.id] = True
        if prepend:
            self._forward_pre_hooks.move_to_end(handle.id, last=False)
        return handle

    def register_forward_hook(
        self,
        hook: Hook,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` afterwards; it may return a new one.

        With ``with_kwargs`` it takes the keyword arguments before the output, with
        ``always_call`` it runs even if forward raises, with ``prepend`` before the
        others.

        >>> import gradtape as torch
        >>> layer = torch.nn.ReLU()
        >>> handle = layer.register_forward_hook(lambda module, args, out: out + 1)
        >>> layer(torch.ones(1))
        tensor([2.])
        """
        handle = RemovableHandle(
            self._forward_hooks,
            extra_dict=[
                self._forward_hooks_with_kwargs,
                self._forward_hooks_always_called,
            ],
        )
        self._forward_hooks[handle.id] = hook
        if with_kwargs:
            self._forward_hooks_with_kwargs[handle.id] = True
        if always_call:
            self._forward_hooks_always_called[handle.id] = True
        if prepend:
            self._forward_hooks.move_to_end(handle.id, last=False)
        return handle

    def register_full_backward_pre_hook(
        self, hook: Hook, prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_output)``; it may return another gradient."""
        handle = register(self._backward_pre_hooks, hook)
        if prepend:
            self._backward_pre_hooks.move_to_end(handle.id, last=False)
        return handle

    def register_full_backward_hook(
        self, hook: Hook, prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` once both are known.

        What it returns takes the place of grad_input. Raises RuntimeError where hooks
        of the older kind are in use.

        >>> import gradtape as torch
        >>> layer = torch.nn.ReLU()
        >>> def halve(module, grad_input, grad_output):
        ...     return (grad_input[0] / 2,)
        >>> handle = layer.register_full_backward_hook(halve)
        >>> x = torch.ones(1, requires_grad=True)
        >>> layer(x).backward()
        >>> x.grad
        tensor([0.5000])
        """
        return self._add_backward_hook(hook, True, prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` of the module's last node.

        The older kind: it misses what other nodes of the module do. Raises RuntimeError
        where full hooks are in use.
        """
        return self._add_backward_hook(hook, False, False)

    def _add_backward_hook(
        self, hook: Hook, full: bool, prepend: bool
    ) -> RemovableHandle:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(_MIXED)
        self._is_full_backward_hook = full
        handle = register(self._backward_hooks, hook)
        if prepend:
            self._backward_hooks.move_to_end(handle.id, last=False)
        return handle

    def _get_backward_hooks(self) -> tuple[list[Hook], list[Hook]]:
        """Return the full hooks and the older ones, those of all modules first."""
        found: dict[bool | None, list[Hook]] = {True: [], False: [], None: []}
        found[shared._global_is_full_backward_hook] += (
            shared._global_backward_hooks.values()
        )
        found[self._is_full_backward_hook] += self._backward_hooks.values()
        return found[True], found[False]

    def _get_backward_pre_hooks(self) -> list[Hook]:
        everywhere = shared._global_backward_pre_hooks
        return [*everywhere.values(), *self._backward_pre_hooks.values()]

    # ---- running them ----

    def _call_hooked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call forward with all hooks around it."""
        called: set[int] = set()
        # What the hooks that run after errors are to see: it fills up on the way.
        state: list[Any] = [args, kwargs, None]
        try:
            return self._forward_between_hooks(state, called)
        except Exception:
            self._call_always(state, called)
            raise

    def _forward_between_hooks(self, state: list[Any], called: set[int]) -> Any:
        full, partial = self._get_backward_hooks()
        backward_pre = self._get_backward_pre_hooks()
        self._run_pre_hooks(state)
        watcher = None
        if full or backward_pre:
            watcher = BackwardHook(self, full, backward_pre)
            state[0] = watcher.setup_input_hook(state[0])
        state[2] = self.forward(*state[0], **state[1])
        self._run_post_hooks(state, called)
        found = state[2]
        if watcher is not None:
            if not isinstance(found, (Tensor, tuple)):
                message = _NO_TENSOR_OUTPUT.format(kind=type(found))
                warnings.warn(message, UserWarning, stacklevel=user_stacklevel())
            found = state[2] = watcher.setup_output_hook(found)
        if partial:
            register_module_node_hook(self, partial, state[0], found)
        return found

    def _run_pre_hooks(self, state: list[Any]) -> None:
        hooks = (*shared._global_forward_pre_hooks.items(),)
        for key, hook in (*hooks, *self._forward_pre_hooks.items()):
            if key not in self._forward_pre_hooks_with_kwargs:
                returned = hook(self, state[0])
                if returned is not None:
                    pair = isinstance(returned, tuple)
                    state[0] = returned if pair else (returned,)
                continue
            returned = hook(self, state[0], state[1])
            if returned is None:
                continue
            if not isinstance(returned, tuple) or len(returned) != 2:
                raise RuntimeError(_PRE_HOOK_RETURNED.format(returned=returned))
            state[0], state[1] = returned

    def _run_post_hooks(self, state: list[Any], called: set[int]) -> None:
        hooks = (*shared._global_forward_hooks.items(),)
        for key, hook in (*hooks, *self._forward_hooks.items()):
            if (
                key in self._forward_hooks_always_called
                or key in shared._global_forward_hooks_always_called
            ):
                called.add(key)
            if (
                key in self._forward_hooks_with_kwargs
                or key in shared._global_forward_hooks_with_kwargs
            ):
                returned = hook(self, state[0], state[1], state[2])
            else:
                returned = hook(self, state[0], state[2])
            if returned is not None:
                state[2] = returned

    def _call_always(self, state: list[Any], called: set[int]) -> None:
        """Run the hooks that are to run after errors too, unless they have already."""
        everywhere = shared._global_forward_hooks
        always = shared._global_forward_hooks_always_called
        for key, hook in list(everywhere.items()):
            if key in always and key not in called:
                _silently("global module", state, hook, self, state[0])
        for key, hook in list(self._forward_hooks.items()):
            if key in self._forward_hooks_always_called and key not in called:
                kwargs = key in self._forward_hooks_with_kwargs
                given = (state[0], state[1]) if kwargs else (state[0],)
                _silently("module", state, hook, self, *given)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the module's output; every subclass writes its own."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )


def _silently(kind: str, state: list[Any], hook: Hook, *args: Any) -> None:
    try:
        returned = hook(*args, state[2])
        if returned is not None:
            state[2] = returned
    except Exception as error:
        warnings.warn(
            _SILENCED.format(kind=kind, error=error),
            UserWarning,
            stacklevel=user_stacklevel(),
        )
