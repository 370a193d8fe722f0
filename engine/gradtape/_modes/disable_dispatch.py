"""Leaving the user's classes of tensors out: what torch._C has for that."""

from __future__ import annotations

from typing import Any

from .grad_mode import mode


class DisableTorchFunctionSubclass:
    """Within it, ops take tensors of every class as plain ones; torch._C has it."""

    def __enter__(self) -> None:
        self._before = mode.now.overrides
        mode.now.overrides = False

    def __exit__(self, *_: object) -> None:
        mode.now.overrides = self._before


class DisableTorchDispatch:
    """Within it, neither modes nor classes have a say below autograd."""

    def __enter__(self) -> None:
        now = mode.now
        self._before = now.dispatch, now.dispatches
        now.dispatch, now.dispatches = (), False
        now.settle()

    def __exit__(self, *_: object) -> None:
        now = mode.now
        now.dispatch, now.dispatches = self._before
        now.settle()


def disabled(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Run the op on plain tensors: the ``__torch_function__`` of parameters."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def undispatched(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Run the op on plain tensors: the ``__torch_dispatch__`` of who has no own."""
    with DisableTorchDispatch():
        return func(*args, **(kwargs or {}))
