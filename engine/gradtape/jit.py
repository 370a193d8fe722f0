"""gradtape.jit: out of reach, see docs/out-of-reach.md; marks on code are kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from ._refusals import refused_names

globals().update(refused_names("jit"))

__all__ = [
    "Final",
    "annotate",
    "export",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "script_if_tracing",
    "unused",
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


def annotate(the_type: Any, the_value: Any) -> Any:
    """Name the type of a value for the compiler; return the value."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Tell whether an object is of a type."""
    return _plain_isinstance(obj, target_type)


def _same(fn: Any) -> Any:
    return fn
