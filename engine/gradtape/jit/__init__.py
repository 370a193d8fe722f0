"""gradtape.jit: all stays Python, as PyTorch does it with ``PYTORCH_JIT=0``.

What is compiled there is returned unchanged. What needs a compiled program is out of
reach, see docs/out-of-reach.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from .._common.refusals import refused_names
from ..futures import Future
from ..nn.modules import Module
from .annotations import BroadcastingListCls as BroadcastingListCls

# The import above puts the module in the place of the name that __future__ left.
globals().update(refused_names("jit"))

__all__ = [
    "Attribute",
    "Final",
    "ScriptModule",
    "annotate",
    "export",
    "fork",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "script",
    "script_if_tracing",
    "script_method",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

F = TypeVar("F", bound=Callable[..., Any])

_plain_isinstance = isinstance


def is_scripting() -> bool:
    """Tell whether the code is being compiled: never.

    >>> import gradtape as torch
    >>> torch.jit.is_scripting()
    False
    """
    return False


def is_tracing() -> bool:
    """Tell whether the code is being traced: never."""
    return False


def script(obj: F, *args: Any, **kwargs: Any) -> F:
    """Return the function, class or module unchanged; examples are not run.

    >>> import gradtape as torch
    >>> @torch.jit.script
    ... def double(x):
    ...     return 2 * x
    >>> double(torch.ones(2))
    tensor([2., 2.])
    """
    return obj


def trace(func: F, *args: Any, **kwargs: Any) -> F:
    """Return the function or module unchanged; it is not called."""
    return func


def trace_module(mod: F, *args: Any, **kwargs: Any) -> F:
    """Return the module unchanged; none of its methods is called."""
    return mod


def script_method(fn: F) -> F:
    """Mark a method of a ScriptModule: nothing happens."""
    return fn


class ScriptModule(Module):
    """A module like any other, for classes that inherit from it."""

    def __init__(self, arg: Any = None) -> None:
        super().__init__()


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
    """Call the function at once; return the future of its result."""
    future: Future[Any] = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future[Any]) -> Any:
    """Return the result of a future."""
    return future.wait()


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Mark a function that stays Python: nothing happens."""
    return drop if callable(drop) else _same


def unused(fn: F) -> F:
    """Mark a function that is not compiled: nothing happens."""
    return fn


def export(fn: F) -> F:
    """Mark a method that is compiled too: nothing happens."""
    return fn


def interface(obj: Any) -> Any:
    """Mark a class as an interface: nothing happens."""
    return obj


def script_if_tracing(fn: F) -> F:
    """Mark a function that is compiled while code is traced: nothing happens."""
    return fn


def _overload(fn: F) -> F:  # pyright: ignore[reportUnusedFunction]
    """Mark a signature of a function that follows: nothing happens."""
    return fn


_overload_method = _overload
_script_if_tracing = script_if_tracing


def Attribute(value: Any, type: Any) -> Any:  # noqa: N802
    """Name the type of an attribute for the compiler; return its value."""
    return value


def annotate(the_type: Any, the_value: Any) -> Any:
    """Name the type of a value for the compiler; return the value."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Tell whether an object is of a type."""
    return _plain_isinstance(obj, target_type)


def _same(fn: Any) -> Any:
    return fn
