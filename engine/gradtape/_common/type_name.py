"""How messages name the type of a value."""

from __future__ import annotations

_HEAP_TYPE = 1 << 9  # CPython's flag of classes that a class statement made


def type_name(value: object) -> str:
    """Name the type of a value as PyTorch does: types made in C with their module.

    PyTorch's own tensors too, which are no tensors here.
    """
    kind = type(value)
    if is_pytorchs(kind):
        return f"{kind.__module__}.{kind.__name__}"
    made_in_python = kind.__flags__ & _HEAP_TYPE
    if made_in_python or kind.__module__ == "builtins":
        return kind.__name__
    return f"{kind.__module__}.{kind.__name__}"


def is_pytorchs(kind: type) -> bool:
    """Tell whether a class of tensors is PyTorch's own, or comes from it."""
    return any(
        base.__name__ == "Tensor" and base.__module__ == "torch"
        for base in kind.__mro__
    )
