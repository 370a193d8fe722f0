"""Overlap: what a tensor holds after a write through another one over its memory.

Three cases are told from the geometry, whatever the lengths of dynamic axes: the same
elements in another shape, a range along one dimension that was written, and a range
along one dimension of what was written. Others are worked out element by element where
all lengths are fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ._align import Seen
from ._graph import LAST, Graph, Value
from ._record import Ref
from ._rules.shape import from_end, sliced
from ._table import CannotTranslateError
from ._varying import Length, Varying, length_of

UNKNOWN = (
    "memory was written through one view and is read through another, of a length that "
    "depends on a dynamic axis. Write with torch.where or torch.cat instead"
)


@dataclass(frozen=True, slots=True)
class Range:
    """A part of a tensor: a range along one of its dimensions, which may be gone."""

    axis: int
    start: Length
    count: Length
    dropped: bool


def after_write(
    graph: Graph, value: Value, seen: Seen, written: Seen, new: Value
) -> Value:
    """Return the value of ``seen`` after ``written`` took on ``new``.

    Raises CannotTranslateError where the overlap moves with a dynamic axis.
    """
    if written.lies_as(seen):
        return Value(new.name, seen.shape, seen.dtype)
    if _same_block(seen, written):
        name = graph.reshape(new, written.shape, seen.shape)
        return Value(name, seen.shape, seen.dtype)
    if _apart(seen, written):
        return value
    part = range_of(seen, written)
    if part is not None:
        return Value(_put(graph, value, part, new), seen.shape, seen.dtype)
    part = range_of(written, seen)
    if part is not None:
        return Value(taken(graph, new, part), seen.shape, seen.dtype)
    return _by_element(graph, value, seen, written, new)


# ---- ranges ----


def range_of(whole: Seen, part: Seen) -> Range | None:
    """Return which range of one tensor another is, if it is one in all runs."""
    for axis in range(len(whole.shape)):
        for dropped in (True, False):
            pairs = zip(whole.refs, part.refs, strict=True)
            starts = [_start(w, p, axis, dropped) for w, p in pairs]
            known = [s for s in starts if s is not None]
            if len(known) == len(starts):
                count = 1 if dropped else part.shape[axis]
                return Range(axis, length_of(known), count, dropped)
    return None


def _start(whole: Ref, part: Ref, axis: int, dropped: bool) -> int | None:
    """Return where along an axis a part begins; None where it is no such part."""
    shape, strides = list(whole.shape), list(whole.strides)
    length, stride = shape[axis], strides[axis]
    if dropped:
        del shape[axis], strides[axis]
        count = 1
    elif len(part.shape) == len(shape):
        count = shape[axis] = part.shape[axis]
    else:
        return None
    if tuple(shape) != part.shape or whole.dtype != part.dtype or not stride:
        return None
    steps = zip(shape, strides, part.strides, strict=True)
    if any(n > 1 and ours != theirs for n, ours, theirs in steps):
        return None
    start, rest = divmod(part.start - whole.start, stride)
    return start if not rest and 0 <= start <= length - count else None


def taken(graph: Graph, value: Value, part: Range) -> str:
    """Append nodes that read a range."""
    length = value.shape[part.axis]
    end = from_end(part.start + part.count, length)
    found = sliced(graph, value.name, part.axis, from_end(part.start, length), end)
    return (
        graph.node("Squeeze", found, graph.ints([part.axis])) if part.dropped else found
    )


def _put(graph: Graph, value: Value, part: Range, new: Value) -> str:
    """Append nodes that replace a range."""
    axis, length = part.axis, value.shape[part.axis]
    middle = new.name
    if part.dropped:
        middle = graph.node("Unsqueeze", new, graph.ints([axis]))
    end = part.start + part.count
    pieces = [middle]
    if part.start != 0:
        before = sliced(graph, value.name, axis, 0, from_end(part.start, length))
        pieces.insert(0, before)
    if end != length:
        pieces.append(sliced(graph, value.name, axis, from_end(end, length), LAST))
    return graph.node("Concat", *pieces, axis=axis)


# ---- elements ----


def cells_of(ref: Ref) -> np.ndarray:
    """Return the address of every element."""
    cells = np.full(ref.shape, ref.start, np.int64)
    for axis, (n, stride) in enumerate(zip(ref.shape, ref.strides, strict=True)):
        steps = np.arange(n, dtype=np.int64) * stride
        cells += steps.reshape([-1 if d == axis else 1 for d in range(len(ref.shape))])
    return cells


def places_in(whole: Seen, part: Seen) -> np.ndarray | None:
    """Return the flat positions of a part's elements; None if some are elsewhere."""
    if any(isinstance(n, Varying) for n in (*whole.shape, *part.shape)):
        return None
    where = {c: i for i, c in enumerate(cells_of(whole.refs[0]).flat)}
    cells = cells_of(part.refs[0])
    if any(c not in where for c in cells.flat):
        return None
    return np.array([where[c] for c in cells.flat], np.int64).reshape(cells.shape)


def gathered(graph: Graph, value: Value, places: np.ndarray, like: Seen) -> Value:
    """Return the elements of a value at flat positions."""
    flat = graph.node("Reshape", value, graph.ints([-1]))
    name = graph.node("Gather", flat, graph.constant(places))
    return Value(name, like.shape, like.dtype)


def _by_element(
    graph: Graph, value: Value, seen: Seen, written: Seen, new: Value
) -> Value:
    if any(isinstance(n, Varying) for n in (*seen.shape, *written.shape)):
        raise CannotTranslateError(UNKNOWN)
    whole = places_in(written, seen)
    if whole is not None:
        return gathered(graph, new, whole, seen)
    source = {c: i for i, c in enumerate(cells_of(written.refs[0]).flat)}
    cells = cells_of(seen.refs[0])
    hits = [(i, source[c]) for i, c in enumerate(cells.flat) if c in source]
    targets, sources = (np.array(side, np.int64) for side in zip(*hits, strict=True))
    flat = graph.node("Reshape", new, graph.ints([-1]))
    updates = graph.node("Gather", flat, graph.constant(sources))
    rest = graph.node("Reshape", value, graph.ints([-1]))
    mixed = graph.node(
        "ScatterElements", rest, graph.constant(targets), updates, axis=0
    )
    return Value(graph.reshape(mixed, [-1], seen.shape), seen.shape, seen.dtype)


# ---- all runs ----


def _same_block(one: Seen, other: Seen) -> bool:
    """Say whether both are all elements of one dense block, in order."""
    return all(
        a.start == b.start
        and a.dtype == b.dtype
        and np.prod(a.shape) == np.prod(b.shape)
        and _dense(a)
        and _dense(b)
        for a, b in zip(one.refs, other.refs, strict=True)
    )


def _dense(ref: Ref) -> bool:
    step: int | None = None
    for n, stride in zip(reversed(ref.shape), reversed(ref.strides), strict=True):
        if n == 1:
            continue
        if step is not None and stride != step:
            return False
        step = stride * n
    return not ref.shape or _innermost(ref.shape, ref.strides) == ref.dtype.itemsize


def _innermost(shape: Sequence[int], strides: Sequence[int]) -> int | None:
    lengths = [s for n, s in zip(shape, strides, strict=True) if n != 1]
    return lengths[-1] if lengths else None


def _apart(one: Seen, other: Seen) -> bool:
    """Say whether two tensors have no element in common, in any run."""
    for a, b in zip(one.refs, other.refs, strict=True):
        (low_a, high_a), (low_b, high_b) = _bounds(a), _bounds(b)
        if high_a < low_b or high_b < low_a:
            continue
        if np.intersect1d(cells_of(a), cells_of(b)).size:
            return False
    return True


def _bounds(ref: Ref) -> tuple[int, int]:
    spans = [(n - 1) * s for n, s in zip(ref.shape, ref.strides, strict=True)]
    low = ref.start + sum(s for s in spans if s < 0)
    return low, ref.start + sum(s for s in spans if s > 0)
