"""How a view lies in memory, worked out from its source: for views that nobody saw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Layout:
    """Shape, and strides and offset in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


def view_arguments(fn: Any) -> tuple[Any, ...]:
    """Return the numbers that a view's node keeps of its call.

    PyTorch keeps dimensions counted from behind as huge unsigned numbers.
    """
    name = type(fn).__name__.partition("Backward")[0]
    slots = _ARGUMENTS.get(name)
    if slots is None:
        return ()
    return (name, *(_signed(getattr(fn, f"_saved_{slot}")) for slot in slots))


def view_layout(
    arguments: tuple[Any, ...], source: Layout, shape: tuple[int, ...]
) -> Layout | None:
    """Return where a view of this shape lies; None for a view of another kind.

    >>> view_layout(("T",), Layout((2, 3), (3, 1), 0), (3, 2))
    Layout(shape=(3, 2), strides=(1, 3), offset=0)
    >>> view_layout(("Select", 0, 1), Layout((2, 3), (3, 1), 0), (3,))
    Layout(shape=(3,), strides=(1,), offset=3)
    """
    name, *numbers = arguments
    strides, offset = list(source.strides), source.offset
    if name == "T":
        strides.reverse()
    elif name == "Transpose":
        first, second = numbers
        strides[first], strides[second] = strides[second], strides[first]
    elif name == "Permute":
        strides = [strides[dim] for dim in numbers[0]]
    elif name == "Unsqueeze":
        dim = numbers[0] % len(shape)
        behind = strides[dim] * source.shape[dim] if dim < len(strides) else 1
        strides.insert(dim, behind)
    elif name == "Select":
        dim, index = numbers
        offset += (index % source.shape[dim]) * strides.pop(dim)
    elif name == "Slice":
        dim, start, step = numbers
        length = source.shape[dim]
        offset += min(max(start + length * (start < 0), 0), length) * strides[dim]
        strides[dim] *= step
    elif name == "Expand":
        strides = _expanded(source, shape)
    elif strides == contiguous(source.shape):  # View
        strides = contiguous(shape)
    else:
        return None
    return Layout(shape, tuple(strides), offset)


def contiguous(shape: tuple[int, ...]) -> list[int]:
    """Return the strides of a tensor without gaps, last dimension innermost."""
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= max(size, 1)
    return strides


def _expanded(source: Layout, shape: tuple[int, ...]) -> list[int]:
    missing = len(shape) - len(source.shape)
    return [0] * missing + [
        0 if before != after else step
        for before, after, step in zip(
            source.shape, shape[missing:], source.strides, strict=True
        )
    ]


def _signed(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return tuple(_signed(each) for each in value)
    if isinstance(value, int) and value >= 2**63:
        return value - 2**64
    return value


_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "T": (),
    "Transpose": ("dim0", "dim1"),
    "Permute": ("dims",),
    "Unsqueeze": ("dim",),
    "Select": ("dim", "index"),
    "Slice": ("dim", "start", "step"),
    "Expand": (),
    "View": (),
    "UnsafeView": (),
}
