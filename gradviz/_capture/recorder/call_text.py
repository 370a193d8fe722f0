"""Arguments of calls and the sources of users' functions, as text."""

from __future__ import annotations

import inspect
import textwrap
from types import CodeType

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


def _short(value: object) -> str:
    if isinstance(value, Opaque):
        text = value.name or f"<{value.kind}>"
    elif isinstance(value, tuple) and any(isinstance(each, Value) for each in value):
        text = f"<{len(value)} tensors>"
    else:
        text = repr(value)
    return text if len(text) <= _LONGEST_ARGUMENT else text[:_LONGEST_ARGUMENT] + "…"


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
