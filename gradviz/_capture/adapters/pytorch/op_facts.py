"""Single facts about calls and nodes of PyTorch: names, arguments, sources."""

from __future__ import annotations

import inspect
from numbers import Number
from types import CodeType
from typing import Any

from gradviz.program.values import CustomFunction, Opaque


def shape_of(thing: Any) -> tuple[int, ...] | None:
    """Return the shape of a tensor or of a node's output; nested ones have none."""
    try:
        return tuple(thing.shape)
    except RuntimeError:
        return None


def plain(thing: Any, torch: Any) -> Any:
    """Return a number of NumPy's as Python's own, and of anything else its kind."""
    if isinstance(thing, torch.dtype | torch.device):
        return Opaque(type(thing).__name__, str(thing).removeprefix("torch."))
    if isinstance(thing, Number) and hasattr(thing, "item"):
        return thing.item()  # type: ignore[attr-defined]
    return Opaque.of(thing)


def is_pytorchs(function: Any) -> bool:
    """Tell whether a Function is one of PyTorch's own."""
    return str(function.__module__).partition(".")[0] == "torch"


def backward_code(function: Any) -> CodeType | None:
    """Return the code of the ``backward`` of a user's Function; None for PyTorch's."""
    if is_pytorchs(function):
        return None
    return getattr(inspect.unwrap(function.backward), "__code__", None)


def custom_function(fn: Any) -> CustomFunction | None:
    """Tell what the user's Function of a node is; the log of its call knows more.

    PyTorch has some too: of compiled regions, checkpoints. Nobody can change those.
    """
    cls = type(fn)._forward_cls
    if is_pytorchs(cls):
        return None
    return CustomFunction(
        name=cls.__name__,
        forward=getattr(inspect.unwrap(cls.forward), "__code__", None),
        backward=backward_code(cls),
        needs_grad=tuple(fn.needs_input_grad),
    )
