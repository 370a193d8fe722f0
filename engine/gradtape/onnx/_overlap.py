"""Overlap: what a tensor holds after a write through another one over its memory.

Three cases are told from the geometry, whatever the lengths of dynamic axes: the same
elements in another shape, a range along one dimension that was written, and a range
along one dimension of what was written. Others are worked out element by element where
all lengths are fixed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._graph import LAST, Graph, Value
from ._record import Call, Ref
from ._rules.shape import from_end, sliced
from ._table import CannotTranslateError
from ._varying import Length, Varying, length_of
from .errors import OnnxExporterError

# ---- align: several runs of one model as one list of calls with varying lengths ----

DATA = (
    "cannot export {where}: {what} depends on the values of the inputs in a way that a "
    "graph cannot follow (item(), a mask as an index, an if on a tensor, random "
    "numbers). Write it with ops on whole tensors, as torch.where"
)
STRUCTURE = (
    "cannot export {where}: with other {which} the model calls other ops. {advice}"
)


@dataclass(frozen=True, slots=True)
class Seen:
    """A tensor of one call, in all runs."""

    refs: tuple[Ref, ...]
    shape: tuple[Length, ...]

    @property
    def serial(self) -> int:
        """Its number, the same in all runs."""
        return self.refs[0].serial

    @property
    def dtype(self) -> Any:
        """Its type."""
        return self.refs[0].dtype

    def lies_as(self, other: Seen) -> bool:
        """Say whether both are the same elements, in all runs."""
        pairs = zip(self.refs, other.refs, strict=True)
        return all(a.lies_as(b) for a, b in pairs)


def place(call: Call) -> str:
    """Say which op it is, and on which line of the user's."""
    return f"{call.name}() at {call.site}" if call.site else f"{call.name}()"


def kind_of(call: Call) -> str:
    """Return the name of an op; reshapes by strides or not are of one kind."""
    return "view" if call.name in ("_reshape_alias", "_unsafe_view") else call.name


def kinds_of(calls: Sequence[Call]) -> list[str]:
    """Return what was called, in order."""
    return [kind_of(call) for call in calls]


def check_same_work(example: Sequence[Call], typical: Sequence[Call]) -> None:
    """Refuse a model that computes something else for the lengths of the example.

    Views and copies may differ: a slice of everything is no slice.
    """
    works = [
        [c for c in calls if kind_of(c) not in _VIEWS] for calls in (example, typical)
    ]
    if kinds_of(works[0]) != kinds_of(works[1]):
        pairs = zip(*works, strict=False)
        differing = [a for a, b in pairs if kind_of(a) != kind_of(b)]
        last = works[0][-1:] or example[-1:]
        call = next(iter([*differing, *last]), None)
        raise _other_structure("it" if call is None else place(call), 2)


_VIEWS = ("alias", "clone", "expand", "slice", "view")


def align(runs: Sequence[Sequence[Call]]) -> list[Call]:
    """Merge the calls of all runs.

    Raises OnnxExporterError where the runs differ in more than lengths.
    """
    for number, run in enumerate(runs[1:], start=1):
        for ours, theirs in zip(runs[0], run, strict=False):
            if kind_of(ours) != kind_of(theirs) or len(ours.outputs) != len(
                theirs.outputs
            ):
                raise _other_structure(place(ours), number)
        if len(run) != len(runs[0]):
            raise _other_structure(place(runs[0][-1]) if runs[0] else "it", number)
    return [_merged_call(calls) for calls in zip(*runs, strict=True)]


def _other_structure(where: str, number: int) -> OnnxExporterError:
    which = "values of the inputs" if number == 1 else "lengths of the dynamic axes"
    advice = (
        "A graph has one sequence of ops: write the choice with torch.where"
        if number == 1
        else "Export it without that dynamic axis, or make the loop one op"
    )
    return OnnxExporterError(STRUCTURE.format(where=where, which=which, advice=advice))


def _merged_call(calls: Sequence[Call]) -> Call:
    first = calls[0]
    try:
        kept = 1 if kind_of(first) == "view" else None  # the shape is the output's
        args = merged([c.args[:kept] for c in calls], place(first))
        outputs = merged([c.outputs for c in calls], place(first))
    except _RanksDifferError as error:
        raise OnnxExporterError(
            f"cannot export {place(first)}: the number of its dimensions or arguments "
            f"changes with the inputs ({error})"
        ) from None
    return Call(first.name, args, outputs, first.site, first.scope, first.module)


class _RanksDifferError(Exception):
    """What should be one structure has several lengths."""


def merged(values: Sequence[Any], where: str) -> Any:
    """Return one argument for all runs: integers as lengths, tensors as Seen.

    Raises OnnxExporterError where other values differ.
    """
    first = values[0]
    if isinstance(first, Ref):
        return _merged_tensor(values, where)
    if isinstance(first, list | tuple):
        if any(len(v) != len(first) for v in values):
            raise _RanksDifferError(", ".join(str(len(v)) for v in values))
        return tuple(merged(v, where) for v in zip(*values, strict=True))
    if isinstance(first, slice):
        parts = [(s.start, s.stop, s.step) for s in values]
        return slice(*merged(parts, where))
    if isinstance(first, np.ndarray):
        return _merged_array(values, where)
    if isinstance(first, int) and not isinstance(first, bool):
        if len(values) > 1 and values[1] != first:
            raise OnnxExporterError(DATA.format(where=where, what="an integer"))
        return length_of([int(v) for v in values])
    for number, value in enumerate(values):
        if value is first or value == first or _both_nan(value, first):
            continue
        if number == 1:
            raise OnnxExporterError(DATA.format(where=where, what=f"{first!r}"))
        raise OnnxExporterError(
            f"cannot export {where}: {first!r} was computed from the length of a "
            "dynamic axis. Compute it with tensors, or export without that axis"
        )
    return first


def _merged_tensor(refs: Sequence[Any], where: str) -> Seen:
    serials = {getattr(r, "serial", None) for r in refs}
    if len(serials) != 1:
        raise OnnxExporterError(
            STRUCTURE.format(
                where=where, which="inputs", advice="It uses other tensors each time"
            )
        )
    ranks = [len(r.shape) for r in refs]
    if len(set(ranks)) != 1:
        raise _RanksDifferError(f"{ranks[0]} and {ranks[-1]} dimensions")
    if len(refs) > 1 and refs[1].shape != refs[0].shape:
        raise OnnxExporterError(DATA.format(where=where, what="a shape"))
    shape = tuple(
        length_of(sizes) for sizes in zip(*(r.shape for r in refs), strict=True)
    )
    return Seen(tuple(refs), shape)


def _merged_array(arrays: Sequence[Any], where: str) -> Any:
    if any(not isinstance(a, np.ndarray) for a in arrays):
        raise OnnxExporterError(DATA.format(where=where, what="an index"))
    if all(np.array_equal(a, arrays[0]) for a in arrays):
        return arrays[0]
    what = "an array"
    if any(not np.array_equal(a, arrays[0]) for a in arrays[1:2]):
        raise OnnxExporterError(DATA.format(where=where, what=what))
    raise OnnxExporterError(
        f"cannot export {where}: its index depends on the length of a dynamic axis. "
        "Index with a slice or with torch.arange, or export without that axis"
    )


def _both_nan(one: Any, other: Any) -> bool:
    return (
        isinstance(one, float)
        and isinstance(other, float)
        and math.isnan(one)
        and math.isnan(other)
    )


# ---- what a tensor holds after a write over its memory ----

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
