"""Which elements of a storage tensors cover, and which of them several times."""

from __future__ import annotations

from collections import Counter
from math import prod

from gradviz.program import Value

_MOST = 200_000  # elements that are counted one by one


def numel(value: Value) -> int:
    """Return how many elements a tensor has."""
    return prod(value.shape)


def cells(value: Value) -> set[int]:
    """Return the positions in its storage that a tensor covers."""
    found = {value.offset}
    for size, stride in zip(value.shape, value.strides, strict=False):
        if stride == 0 and size > 0:
            continue
        found = {at + i * stride for at in found for i in range(size)}
    return found


def span(value: Value) -> tuple[int, int]:
    """Return the first position that a tensor covers and the one after its last."""
    low = high = value.offset
    for size, stride in zip(value.shape, value.strides, strict=False):
        reach = (size - 1) * stride
        low, high = low + min(reach, 0), high + max(reach, 0)
    return low, high + 1


def landing(value: Value, places: set[int]) -> int:
    """Return how many elements of a tensor lie in these places of its storage."""
    found = Counter([value.offset])
    for size, stride in zip(value.shape, value.strides, strict=False):
        moved: Counter[int] = Counter()
        for at, times in found.items():
            if stride == 0:
                moved[at] += times * size
            else:
                for i in range(size):
                    moved[at + i * stride] += times
        found = moved
    return sum(times for at, times in found.items() if at in places)


def is_same(one: Value, other: Value) -> bool:
    """Are two tensors the same elements of one storage, in the same order?"""
    places = [(v.storage, v.offset, v.shape, v.strides) for v in (one, other)]
    return one.storage != 0 and places[0] == places[1]  # 0: no memory is known


def overlap(one: Value, other: Value) -> bool:
    """Do two tensors of one storage share an element? In doubt, yes.

    >>> row = Value(1, 1, 0, (2,), (1,), 0, "float32")
    >>> overlap(row, Value(2, 1, 0, (2,), (1,), 2, "float32"))
    False
    """
    if not numel(one) or not numel(other):
        return False
    (low, high), (start, end) = span(one), span(other)
    if high <= start or end <= low:
        return False
    if is_contiguous(one) and is_contiguous(other):
        return True
    if numel(one) > _MOST or numel(other) > _MOST:
        return True
    return not cells(one).isdisjoint(cells(other))


def repeats(value: Value) -> bool:
    """Do several elements of a tensor share one place in memory?

    >>> repeats(Value(1, 1, 0, (3, 2), (0, 1), 0, "float32"))
    True
    """
    dims = sorted(
        (abs(stride), size)
        for size, stride in zip(value.shape, value.strides, strict=False)
        if size != 1
    )
    if not numel(value):
        return False
    reach = 0
    for stride, size in dims:
        if stride <= reach:  # may fold back onto a smaller dimension
            return numel(value) > _MOST or len(cells(value)) < numel(value)
        reach += (size - 1) * stride
    return False


def is_contiguous(value: Value) -> bool:
    """Are the elements of a tensor side by side, in order?"""
    expected = 1
    for size, stride in zip(
        reversed(value.shape), reversed(value.strides), strict=True
    ):
        if size != 1:
            if stride != expected:
                return False
            expected *= size
    return True
