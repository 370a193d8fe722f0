"""Which axes are left after an index, a slice or a pick, and what was chosen."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from gradviz.dependence.axes import Axis, Dim, Dims, Factor, Move, new, only
from gradviz.program import Call, Opaque, Value

Sources: TypeAlias = dict[int, Dims]
"""The dimensions of index tensors, by tensor."""

_ORDERS = ("randperm", "randint", "multinomial")
"""Calls whose result, as an index, puts elements into an order of its own."""


@dataclass(slots=True)
class Picked:
    """The result of an index."""

    dims: Dims
    dropped: list[tuple[Dim, int]] = field(default_factory=list[tuple[Dim, int]])
    # axes of which one element was taken, and which
    rows: tuple[Dim, Value] | None = None
    # a dimension that ``arange`` went along, and the index beside it: one each


def signature(axis: Axis) -> Hashable:
    """Return what is equal for two axes that hold the same elements in one order."""
    return id(axis.root), tuple([(each.what, each.token) for each in axis.moves])


def order_of(index: Value, dims: Dims | None, dim: int, call: Call) -> Move:
    """Return the choice that an index tensor makes with one of its dimensions."""
    if dims is None or index.dtype == "bool":
        return Move("unknown", ("index", index.tensor, dim), call)
    factors = dims[dim] if dim < len(dims) else ()
    if len(factors) != 1 or len(factors[0].axes) != 1:
        return Move("unknown", ("index", index.tensor, dim), call)
    axis = factors[0].axes[0]
    maker = axis.root.call
    known = maker is not None and maker.op in _ORDERS
    if maker is not None and maker.op == "arange":
        return Move("slice", ("arange", signature(axis)), call)
    return Move("index" if known else "unknown", signature(axis), call)


def sliced(dim: Dim, given: slice, call: Call, size: int) -> Dim:
    """Return a dimension of which a range was taken."""
    if len(dim) != 1 or dim[0].size == size:
        step = given.step
        if len(dim) == 1 and step is not None and step != 1:
            return (dim[0].each("made", call, size),)
        return dim if sum(factor.size for factor in dim) else ()
    if size == 1:
        return ()
    token = given.start or 0, given.stop, given.step
    return (dim[0].moved(Move("slice", _plain(token), call), size),)


def _plain(token: tuple[Any, ...]) -> Hashable:
    return tuple([each if isinstance(each, int) else None for each in token])


def indexed(
    dims: Dims, index: Any, call: Call, shape: tuple[int, ...], sources: Sources
) -> Picked | None:
    """Return what ``x[index]`` leaves of the dimensions of ``x``; None: not known."""
    parts = list(index) if isinstance(index, tuple) else [index]
    if _is_numbers(index) and len(index) > 0:  # a list of rows
        parts = [index]
    parts = _without_ellipsis(parts, len(dims))
    if parts is None:
        return None
    picked = Picked(())
    left, made = iter(dims), list[Dim]()
    gathered: list[tuple[Dim, Any]] = []
    where = 0
    for part in parts:
        if part is None:
            made.append(())
            continue
        dim = next(left, None)
        if dim is None:
            return None
        if isinstance(part, bool):
            return None
        if isinstance(part, int):
            picked.dropped.append((dim, part))
        elif isinstance(part, slice):
            size = _size_after(dim, part)
            if size is None:
                return None
            made.append(sliced(dim, part, call, size))
        else:
            if not gathered:
                where = len(made)
            gathered.append((dim, part))
    made += list(left)
    if gathered:
        found = _gathered(gathered, call, sources)
        if found is None:
            return None
        made[where:where] = found
        picked.rows = _rows(gathered, sources)
    picked.dims = tuple(made)
    return picked if len(made) == len(shape) else None


def _is_numbers(index: Any) -> bool:
    return isinstance(index, tuple) and all(type(each) is int for each in index)


def _without_ellipsis(parts: list[Any], rank: int) -> list[Any] | None:
    if not any(each is Ellipsis for each in parts):
        return parts
    place = next(i for i, each in enumerate(parts) if each is Ellipsis)
    taken = sum(_takes(each) for each in parts if each is not Ellipsis)
    if taken > rank:
        return None
    return [*parts[:place], *[slice(None)] * (rank - taken), *parts[place + 1 :]]


def _takes(part: Any) -> int:
    if part is None:
        return 0
    if isinstance(part, Value) and part.dtype == "bool":
        return len(part.shape)
    return 1


def _size_after(dim: Dim, part: slice) -> int | None:
    size = 1
    for factor in dim:
        size *= factor.size
    ends = part.start, part.stop, part.step
    if not all(each is None or type(each) is int for each in ends):
        return None
    return len(range(*part.indices(size)))


def _gathered(
    gathered: list[tuple[Dim, Any]], call: Call, sources: Sources
) -> list[Dim] | None:
    """Return the dimensions that index tensors, or lists of numbers, make."""
    dim, part = gathered[0]
    if len(gathered) > 1:
        shapes = [each.shape for _, each in gathered if isinstance(each, Value)]
        if len(shapes) < len(gathered) or len(set(shapes)) > 1:
            return None
        if len(shapes[0]) != 1:
            return list(new(shapes[0], "made", call, None))
        # ``logits[rows, classes]`` is one element for each of the rows
        move = order_of(part, sources.get(part.tensor), 0, call)
        return [_chosen(dim, move, shapes[0][0])]
    if isinstance(part, list | tuple):
        numbers: tuple[Any, ...] = tuple(part)
        if not _is_numbers(numbers):
            return None
        return [_chosen(dim, Move("numbers", numbers, call), len(numbers))]
    if isinstance(part, Opaque) or not isinstance(part, Value):
        return None
    if part.dtype == "bool":
        if len(part.shape) > 1 or not call.outputs or not call.outputs[0].shape:
            return None
        move = Move("unknown", ("mask", part.tensor), call)
        return [_chosen(dim, move, call.outputs[0].shape[0])]
    known = sources.get(part.tensor)
    return [
        _chosen(dim, order_of(part, known, each, call), size)
        for each, size in enumerate(part.shape)
    ]


def _chosen(dim: Dim, move: Move, size: int) -> Dim:
    if size == 1:
        return ()
    if len(dim) != 1:
        made = Axis(size, "made", move.call, token=move.token, merged=dim)
        return (Factor((made,), size),)
    return (dim[0].moved(move, size),)


def before_pick(one: Dim, other: Dim) -> tuple[Dim, Dim]:
    """Return two dimensions as they were before one index picked from both.

    Where what it picked from was merged of several; else the two as they are.
    """
    a, b = ([each.root for each in only(dim)] for dim in (one, other))
    found = [(x.merged, y.merged) for x in a for y in b if x.token == y.token]
    return found[0] if len(found) == 1 and all(found[0]) else (one, other)


def _rows(
    gathered: list[tuple[Dim, Any]], sources: Sources
) -> tuple[Dim, Value] | None:
    """Return the dimension that ``arange`` goes along, and the index beside it."""
    if len(gathered) != 2:
        return None
    (dim, rows), (_, beside) = gathered
    if not isinstance(rows, Value) or not isinstance(beside, Value):
        return None
    known = sources.get(rows.tensor)
    if known is None or len(known) != 1 or len(known[0]) != 1:
        return None
    maker = known[0][0].axes[0].root.call
    whole = maker is not None and maker.op == "arange"
    return (dim, beside) if whole and rows.shape == beside.shape else None
