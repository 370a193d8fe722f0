"""Rules of ops that rearrange elements: views, joins, pieces and repetitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._graph import LAST, Graph, Value
from .._record import Call
from .._table import CannotTranslateError, rule
from .._varying import Length, Varying


def axis_of(dim: int, ndim: int) -> int:
    """Return a dimension counted from the front."""
    return dim + ndim if dim < 0 else dim


@rule("view", "_unsafe_view", "_reshape_alias", "reshape")
def view(graph: Graph, call: Call, x: Value, *options: Any) -> str:
    """Reshape to the shape that the result had."""
    return graph.reshape(x, x.shape, call.outputs[0].shape)


@rule("unsqueeze")
def unsqueeze(graph: Graph, call: Call, x: Value, dim: int) -> str:
    """Insert a dimension."""
    return graph.node("Unsqueeze", x, graph.ints([axis_of(dim, x.ndim + 1)]))


@rule("squeeze")
def squeeze(graph: Graph, call: Call, x: Value, dim: Any = None) -> str:
    """Drop dimensions of length 1."""
    dims = range(x.ndim) if dim is None else dim if isinstance(dim, tuple) else (dim,)
    asked = [axis_of(d, x.ndim) for d in dims]
    gone = [d for d in sorted(asked) if d < x.ndim and x.shape[d] == 1]
    for length in [x.shape[d] for d in asked if d < x.ndim]:
        if isinstance(length, Varying) and 1 in length.values:
            raise CannotTranslateError(
                "whether it drops a dynamic axis depends on that axis being 1. Name "
                "the dimensions to drop, or use reshape"
            )
    return graph.node("Squeeze", x, graph.ints(gone)) if gone else x.name


@rule("transpose")
def transpose(graph: Graph, call: Call, x: Value, dim0: int, dim1: int) -> str:
    """Swap two dimensions."""
    order = list(range(x.ndim))
    if not order:
        return x.name
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return graph.node("Transpose", x, perm=order)


@rule("t")
def matrix_transpose(graph: Graph, call: Call, x: Value) -> str:
    """Swap the dimensions of a matrix; Gemm can do that itself."""
    if x.ndim < 2:
        return x.name
    found = graph.node("Transpose", x, perm=[1, 0])
    graph.transposed[found] = x.name
    return found


@rule("permute")
def permute(graph: Graph, call: Call, x: Value, dims: Sequence[int]) -> str:
    """Put the dimensions into another order."""
    if not dims:
        return x.name
    return graph.node("Transpose", x, perm=[axis_of(d, x.ndim) for d in dims])


@rule("expand")
def expand(graph: Graph, call: Call, x: Value, *options: Any) -> str:
    """Repeat along dimensions of length 1."""
    return expanded(graph, x.name, x.shape, call.outputs[0].shape)


def expanded(
    graph: Graph, name: str, old: Sequence[Length], new: Sequence[Length]
) -> str:
    """Return a tensor of shape ``old`` broadcast to shape ``new``."""
    lead = len(new) - len(old)
    steps = [1 if d >= lead and old[d - lead] == n else n for d, n in enumerate(new)]
    if not lead and all(n == 1 for n in steps):
        return name
    return graph.node("Expand", name, graph.ints(steps))


@rule("repeat")
def repeat(graph: Graph, call: Call, x: Value, repeats: Sequence[Length]) -> str:
    """Lay copies side by side."""
    lead = len(repeats) - x.ndim
    found = x.name
    if lead:
        found = graph.reshape(x, x.shape, (*(1,) * lead, *x.shape))
    return graph.node("Tile", found, graph.ints(repeats))


@rule("cat")
def cat(graph: Graph, call: Call, tensors: Sequence[Value], dim: int) -> str:
    """Join along a dimension; empty vectors join anything, as in PyTorch."""
    out = call.outputs[0]
    parts = [t for t in tensors if t.shape != (0,) or len(out.shape) == 1]
    names = [graph.cast(t, out.dtype) for t in parts]
    return graph.node("Concat", *names, axis=axis_of(dim, len(out.shape)))


@rule("stack")
def stack(graph: Graph, call: Call, tensors: Sequence[Value], dim: int) -> str:
    """Join along a new dimension."""
    out = call.outputs[0]
    axis = axis_of(dim, len(out.shape))
    where = graph.ints([axis])
    names = [graph.node("Unsqueeze", graph.cast(t, out.dtype), where) for t in tensors]
    return graph.node("Concat", *names, axis=axis)


@rule("split", "split_with_sizes", "unsafe_split", "unsafe_split_with_sizes")
def split(
    graph: Graph, call: Call, x: Value, sizes: Any, dim: int = 0
) -> tuple[str, ...]:
    """Cut into consecutive pieces."""
    axis = axis_of(dim, x.ndim)
    lengths = graph.ints([o.shape[axis] for o in call.outputs])
    return graph.nodes_of("Split", len(call.outputs), x, lengths, axis=axis)


@rule("unbind")
def unbind(graph: Graph, call: Call, x: Value, dim: int) -> tuple[str, ...]:
    """Return every slice along a dimension."""
    axis = axis_of(dim, x.ndim)
    return tuple(
        graph.node("Gather", x, graph.constant(np.array(i, np.int64)), axis=axis)
        for i in range(len(call.outputs))
    )


@rule("select")
def select(graph: Graph, call: Call, x: Value, dim: int, index: Length) -> str:
    """Return one slice; an index that moves with the end counts from there."""
    place = from_end(index, x.shape[dim])
    if isinstance(place, Varying):
        at = graph.node("Squeeze", graph.length(place), graph.ints([0]))
    else:
        at = graph.constant(np.array(place, np.int64))
    return graph.node("Gather", x, at, axis=axis_of(dim, x.ndim))


def from_end(index: Length, length: Length) -> Length:
    """Return a position that moves with the length as one counted from the end."""
    if isinstance(index, Varying):
        rest = index - length
        if not isinstance(rest, Varying):
            return rest if rest < 0 else LAST
    return index


@rule("slice", "_narrow_copy")
def take_slice(
    graph: Graph,
    call: Call,
    x: Value,
    dim: int,
    start: Length,
    end: Length,
    step: int = 1,
) -> str:
    """Return a range along a dimension."""
    if call.name == "_narrow_copy":
        end = start + end
    axis = axis_of(dim, x.ndim)
    if start == 0 and step == 1 and call.outputs[0].shape[axis] == x.shape[axis]:
        return x.name
    return sliced(
        graph,
        x.name,
        axis,
        from_end(start, x.shape[axis]),
        from_end(end, x.shape[axis]),
        step,
    )


def sliced(
    graph: Graph, name: str, axis: int, start: Length, end: Length, step: int = 1
) -> str:
    """Append a Slice along one axis."""
    steps = None if step == 1 else graph.ints([step])
    where = graph.ints([axis])
    return graph.node(
        "Slice", name, graph.ints([start]), graph.ints([end]), where, steps
    )


@rule("flip")
def flip(graph: Graph, call: Call, x: Value, dims: Sequence[int]) -> str:
    """Turn dimensions round."""
    n = len(dims)
    if not n:
        return x.name
    starts, ends = graph.ints([-1] * n), graph.ints([np.iinfo(np.int64).min] * n)
    axes = graph.ints([axis_of(d, x.ndim) for d in dims])
    return graph.node("Slice", x, starts, ends, axes, graph.ints([-1] * n))


@rule("roll")
def roll(graph: Graph, call: Call, x: Value, shifts: Any, dims: Any) -> str:
    """Move elements on, from the end to the front."""
    if not dims:
        flat = graph.node("Reshape", x, graph.ints([-1]))
        return graph.reshape(_rolled(graph, flat, 0, shifts[0]), [-1], x.shape)
    found = x.name
    for shift, dim in zip(shifts, dims, strict=True):
        found = _rolled(graph, found, axis_of(dim, x.ndim), shift)
    return found


def _rolled(graph: Graph, name: str, axis: int, shift: int) -> str:
    if shift == 0:
        return name
    back = sliced(graph, name, axis, -shift, LAST)
    return graph.node("Concat", back, sliced(graph, name, axis, 0, -shift), axis=axis)


@rule("tril", "triu")
def triangle(graph: Graph, call: Call, x: Value, diagonal: int) -> str:
    """Keep the lower or the upper triangle."""
    upper = int(call.name.startswith("triu"))
    return graph.node("Trilu", x, graph.constant(np.array(diagonal)), upper=upper)


@rule("unfold")
def unfold(graph: Graph, call: Call, x: Value, dim: int, size: int, step: int) -> str:
    """Return windows along a dimension, in a new last one."""
    axis = axis_of(dim, x.ndim)
    count = call.outputs[0].shape[axis]
    if isinstance(count, Varying):
        raise CannotTranslateError(
            "the number of windows follows a dynamic axis. Export without it"
        )
    windows = np.arange(count)[:, None] * step + np.arange(size)
    found = graph.node("Gather", x, graph.constant(windows), axis=axis)
    order = [*range(axis + 1), *range(axis + 2, x.ndim + 1), axis + 1]
    return graph.node("Transpose", found, perm=order)


@rule("diagonal")
def diagonal(
    graph: Graph, call: Call, x: Value, offset: int, dim1: int, dim2: int
) -> str:
    """Return the elements of a diagonal, in a new last dimension."""
    first, second = axis_of(dim1, x.ndim), axis_of(dim2, x.ndim)
    count = call.outputs[0].shape[-1]
    if isinstance(count, Varying):
        raise CannotTranslateError("the diagonal follows a dynamic axis")
    rest = [d for d in range(x.ndim) if d not in (first, second)]
    moved = graph.node("Transpose", x, perm=[first, second, *rest])
    steps = np.arange(count)
    where = np.stack([steps + max(-offset, 0), steps + max(offset, 0)], -1)
    found = graph.node("GatherND", moved, graph.constant(where))
    return graph.node("Transpose", found, perm=[*range(1, len(rest) + 1), 0])
