"""How messages name the type of a value."""

from __future__ import annotations

_HEAP_TYPE = 1 << 9  # CPython's flag of classes that a class statement made


def type_name(value: object) -> str:
    """Name the type of a value as PyTorch does: types made in C with their module."""
    kind = type(value)
    made_in_python = kind.__flags__ & _HEAP_TYPE
    if made_in_python or kind.__module__ == "builtins":
        return kind.__name__
    return f"{kind.__module__}.{kind.__name__}"
