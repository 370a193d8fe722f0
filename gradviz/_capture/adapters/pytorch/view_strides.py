"""How a view lies in memory, worked out from its source: for views that nobody saw."""

from __future__ import annotations

from collections.abc import Iterable
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
    name = type(fn).__name__
    slots = view_slots(name)
    return () if slots is None else view_call(name, [getattr(fn, s) for s in slots])


def view_slots(node: str) -> tuple[str, ...] | None:
    """Return the attributes of a view's node that give the numbers of its call."""
    slots = _ARGUMENTS.get(node.partition("Backward")[0])
    return None if slots is None else tuple([f"_saved_{slot}" for slot in slots])


def view_call(node: str, numbers: Iterable[Any]) -> tuple[Any, ...]:
    """Return the call of a view as :func:`view_layouts` takes it."""
    return (node.partition("Backward")[0], *map(_signed, numbers))


def view_layouts(
    arguments: tuple[Any, ...], source: Layout, shapes: list[tuple[int, ...]]
) -> list[Layout]:
    """Return where views of these shapes lie; [] for views of another kind.

    And for those whose source has fewer dimensions than the call: a nested tensor is
    known without any.

    >>> view_layouts(("T",), Layout((2, 3), (3, 1), 0), [(3, 2)])
    [Layout(shape=(3, 2), strides=(1, 3), offset=0)]
    >>> view_layouts(("Select", 0, 1), Layout((2, 3), (3, 1), 0), [(3,)])
    [Layout(shape=(3,), strides=(1,), offset=3)]
    """
    try:
        return _layouts(arguments, source, shapes)
    except IndexError:
        return []


def _layouts(
    arguments: tuple[Any, ...], source: Layout, shapes: list[tuple[int, ...]]
) -> list[Layout]:
    name, *numbers = arguments
    if name in ("Split", "SplitWithSizes"):
        dim, offset, found = numbers[0], source.offset, list[Layout]()
        for shape in shapes:
            found.append(Layout(shape, source.strides, offset))
            offset += shape[dim] * source.strides[dim]
        return found
    if name == "Unbind":
        strides = list(source.strides)
        step = strides.pop(numbers[0])
        return [
            Layout(shape, tuple(strides), source.offset + at * step)
            for at, shape in enumerate(shapes)
        ]
    moved = _one(name, numbers, source, shapes[0])
    return [] if moved is None else [moved]


def _one(
    name: str, numbers: list[Any], source: Layout, shape: tuple[int, ...]
) -> Layout | None:
    strides: list[int] | None = list(source.strides)
    offset = source.offset
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
    else:
        strides = _viewed(source, shape)
    return None if strides is None else Layout(shape, tuple(strides), offset)


def numbers(sizes: Iterable[Any]) -> tuple[int, ...]:
    """Return sizes or strides as numbers: 0 for a size that varies within a batch.

    Nested tensors have such, and what ``torch.compile`` keeps open.
    """
    found = tuple(sizes)
    if _INTEGER.issuperset(map(type, found)):
        return found
    return tuple(0 if _varies(size) else int(size) for size in found)


_INTEGER = frozenset({int})


def _varies(size: Any) -> bool:
    node = getattr(size, "node", None)
    return node is not None and (node.is_nested_int() or not node.is_constant())


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


def _viewed(source: Layout, shape: tuple[int, ...]) -> list[int] | None:
    """Return the strides of a view with another shape; None where there is none.

    Dimensions that lie without gaps in each other form a block, and each block must be
    cut up anew on its own.
    """
    if 0 in shape or 0 in source.shape:
        return contiguous(shape)
    sizes, strides = list(shape), list[int]()
    block, inner = 1, 0
    for dim in reversed(range(len(source.shape))):
        if block == 1:
            inner = source.strides[dim]
        block *= source.shape[dim]
        ends = dim == 0 or (
            source.shape[dim - 1] != 1 and source.strides[dim - 1] != block * inner
        )
        if not ends:
            continue
        taken = 1
        while sizes and (taken < block or sizes[-1] == 1):
            strides.insert(0, taken * inner)
            taken *= sizes.pop()
        if taken != block:
            return None
        block = 1
    return [*([1] * len(sizes)), *strides]


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
    "Split": ("dim",),
    "SplitWithSizes": ("dim",),
    "Unbind": ("dim",),
    "Expand": (),
    "View": (),
    "UnsafeView": (),
}
