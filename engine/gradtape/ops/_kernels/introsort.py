"""Introsort as C++'s standard library has it, for orders that are none.

Where NaN is among what is compared, "less" leaves elements equal to several that are
not equal to each other. What a sort makes of that depends on each of its steps, so
here are those of libstdc++'s ``std::sort``: quicksort by the median of three down to 16
elements, heapsort where that goes too deep, and one pass of insertions at the end.
"""

from __future__ import annotations

from collections.abc import Callable

Less = Callable[[int, int], bool]

_SMALL = 16


def introsort(items: list[int], less: Less) -> None:
    """Sort ``items`` in place; not stable."""
    _partition_all(items, less)
    for end in range(1, len(items)):
        if end < _SMALL and less(items[end], items[0]):
            items.insert(0, items.pop(end))
            continue
        item, at = items[end], end
        while at and less(item, items[at - 1]):
            items[at] = items[at - 1]
            at -= 1
        items[at] = item


def _partition_all(items: list[int], less: Less) -> None:
    """Bring items so far that none has to move by more than 16 places."""
    waiting = [(0, len(items), 2 * (len(items).bit_length() - 1))]
    while waiting:
        first, last, depth = waiting.pop()
        while last - first > _SMALL:
            if not depth:
                items[first:last] = _heapsorted(items[first:last], less)
                break
            depth -= 1
            cut = _partition(items, first, last, less)
            waiting.append((first, cut, depth))
            first = cut


def _partition(items: list[int], first: int, last: int, less: Less) -> int:
    """Put what is less than a pivot first; return where the rest begins."""
    at = _median(items, first + 1, (first + last) // 2, last - 1, less)
    items[first], items[at] = items[at], items[first]
    pivot, low, high = items[first], first + 1, last
    while True:
        while low < last and less(items[low], pivot):
            low += 1
        high -= 1
        while high > first and less(pivot, items[high]):
            high -= 1
        if low >= high:
            return low
        items[low], items[high] = items[high], items[low]
        low += 1


def _median(items: list[int], a: int, b: int, c: int, less: Less) -> int:
    """Return which of three places holds neither the least nor the greatest."""
    if not less(items[a], items[b]):
        a, b = b, a
        if not less(items[b], items[c]):
            return c if less(items[a], items[c]) else a
        return b
    if less(items[b], items[c]):
        return b
    return c if less(items[a], items[c]) else a


def _heapsorted(items: list[int], less: Less) -> list[int]:
    heap, size = list(items), len(items)
    for parent in range((size - 2) // 2, -1, -1):
        _sift(heap, parent, size, heap[parent], less)
    for end in range(size - 1, 0, -1):
        item, heap[end] = heap[end], heap[0]
        _sift(heap, 0, end, item, less)
    return heap


def _sift(heap: list[int], hole: int, size: int, item: int, less: Less) -> None:
    """Let a hole sink to the bottom along the greater children, and ``item`` rise."""
    top = hole
    while (child := 2 * hole + 2) < size:
        if less(heap[child], heap[child - 1]):
            child -= 1
        heap[hole] = heap[child]
        hole = child
    if child == size:  # the last parent has one child
        heap[hole] = heap[child - 1]
        hole = child - 1
    while hole > top and less(heap[parent := (hole - 1) // 2], item):
        heap[hole] = heap[parent]
        hole = parent
    heap[hole] = item
