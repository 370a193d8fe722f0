"""Single facts about calls and nodes of PyTorch: names, arguments, sources."""

from __future__ import annotations

import inspect
import textwrap
from numbers import Number
from types import CodeType
from typing import Any

from gradviz.program.events import Call
from gradviz.program.values import CustomFunction, Opaque, Value

_LONGEST_ARGUMENT = 80


def arguments_of(call: Call) -> tuple[str, ...]:
    """Write the arguments of a call that are no tensors."""
    shown = [
        _short(value) for value in call.arguments[1:] if not isinstance(value, Value)
    ]
    shown += [
        f"{name}={_short(value)}"
        for name, value in call.keywords.items()
        if not isinstance(value, Value)
    ]
    return tuple(shown)


def _short(value: Any) -> str:
    if isinstance(value, Opaque):
        text = value.name or f"<{value.kind}>"
    elif isinstance(value, tuple) and any(isinstance(each, Value) for each in value):
        text = f"<{len(value)} tensors>"
    else:
        text = repr(value)
    return text if len(text) <= _LONGEST_ARGUMENT else text[:_LONGEST_ARGUMENT] + "…"


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


def backward_source(custom: CustomFunction | None) -> str:
    """Return the text of a user's ``backward``; "" where it is lost."""
    return "" if custom is None else source_of(custom.backward)


def source_of(code: CodeType | None) -> str:
    """Return the text of a function; "" where it is lost."""
    if code is None:
        return ""
    try:
        return textwrap.dedent(inspect.getsource(code)).strip()
    except (OSError, TypeError):
        return ""


def backward_code(function: Any) -> CodeType | None:
    """Return the code of the ``backward`` of a user's Function; None for PyTorch's."""
    if str(function.__module__).partition(".")[0] == "torch":
        return None
    return getattr(inspect.unwrap(function.backward), "__code__", None)


def custom_function(fn: Any) -> CustomFunction:
    """Tell what the user's Function of a node is; the log of its call knows more."""
    cls = type(fn)._forward_cls
    return CustomFunction(
        name=cls.__name__,
        forward=getattr(inspect.unwrap(cls.forward), "__code__", None),
        backward=backward_code(cls),
        needs_grad=tuple(fn.needs_input_grad),
    )
