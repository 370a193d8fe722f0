"""``__torch_function__``: asking whose call it is, and modes that see every call.

The functions of the library ask by themselves. A function of your own takes part with
:func:`has_torch_function` and :func:`handle_torch_function`.

>>> import gradtape as torch
>>> from gradtape.overrides import TorchFunctionMode, resolve_name
>>> class Names(TorchFunctionMode):
...     def __torch_function__(self, func, types, args=(), kwargs=None):
...         print(resolve_name(func))
...         return func(*args, **(kwargs or {}))
>>> with Names():
...     total = torch.zeros(2).sum()
torch.zeros
torch.Tensor.sum
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any, TypeVar

from .._modes.grad_mode import mode
from .._overrides.modes import EnableTorchFunction, without_innermost
from .._overrides.modes import is_tensor_like as is_tensor_like
from .._overrides.torch_function import unwrapped
from ._ask import handle_torch_function as handle_torch_function
from ._ask import has_torch_function as has_torch_function
from ._ask import has_torch_function_unary as has_torch_function_unary
from ._ask import has_torch_function_variadic as has_torch_function_variadic
from ._guard import entries
from ._overridable import arm
from ._overridable import get_ignored_functions as get_ignored_functions
from ._overridable import get_overridable_functions as get_overridable_functions
from ._overridable import get_testing_overrides as get_testing_overrides
from ._overridable import is_tensor_method_or_property as is_tensor_method_or_property
from ._overridable import resolve_name as resolve_name

__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "redispatch_function",
    "resolve_name",
    "wrap_torch_function",
]

F = TypeVar("F", bound=Callable[..., Any])


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[F], F]:
    """Decorate a function of your own; ``dispatcher`` picks its relevant arguments.

    >>> import gradtape as torch
    >>> @torch.overrides.wrap_torch_function(lambda a: (a,))
    ... def double(a):
    ...     return a * 2
    >>> double(torch.ones(1))
    tensor([2.])
    """

    def decorate(func: Any) -> Any:
        @functools.wraps(func)
        def asking(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(asking, relevant, *args, **kwargs)
            return func(*args, **kwargs)

        return asking

    return decorate


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """Return the functions whose results keep their class in a class of tensors."""
    arm()
    return set(unwrapped)


class TorchFunctionMode:
    """Stands before every function that is called in its ``with`` block.

    What it calls in ``__torch_function__`` goes to the modes around it.
    """

    inner: TorchFunctionMode

    def __init__(self) -> None:
        pass

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        _push_mode(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _pop_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> TorchFunctionMode:
        """Make one; an older way to write ``with``."""
        warnings.warn(
            "`Mode.push()` is no longer necessary and can be replaced with just "
            "`with Mode()`",
            stacklevel=2,
        )
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """Passes every call on."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


def redispatch_function(func: Any, types: Any, args: Any, kwargs: Any = None) -> Any:
    """Run a function without asking about it, and ask about what it calls."""
    if func in entries:
        mode.now.once = True
    elif isinstance(getattr(func, "__wrapped__", None), Callable):
        func = func.__wrapped__
    return func(*args, **(kwargs or {}))


@contextmanager
def enable_reentrant_dispatch() -> Generator[None]:
    """Let modes see what is called here, also inside one of them, and autograd too."""
    now = mode.now
    before, asking = now.grad, now.asking
    if asking is not None:
        now.grad = asking.grad
    try:
        yield
    finally:
        now.grad = before


def _get_current_function_mode() -> Any:  # pyright: ignore[reportUnusedFunction]
    modes = mode.now.functions
    return modes[-1] if modes else None


def _get_current_function_mode_stack() -> list[Any]:  # pyright: ignore[reportUnusedFunction]
    return list(mode.now.functions)


def _push_mode(pushed: Any) -> None:
    arm()
    mode.now.functions += (pushed,)


def _pop_mode() -> Any:
    now = mode.now
    *before, popped = now.functions
    now.functions = tuple(before)
    return popped


_pop_mode_temporarily = without_innermost
_enable_torch_function = EnableTorchFunction
