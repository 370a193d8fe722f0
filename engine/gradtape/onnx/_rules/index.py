"""Rules of indexing with tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._dtypes import int64
from .._graph import Graph, Value
from .._record import Call
from .._table import CannotTranslateError, rule
from .._varying import Length
from .shape import axis_of, expanded, sliced


@rule("embedding")
def embedding(
    graph: Graph, call: Call, weight: Value, indices: Value, *options: Any
) -> str:
    """Return rows of a table."""
    return graph.node("Gather", weight, indices, axis=0)


@rule("EmbeddingBag")
def embedding_bag(
    graph: Graph, call: Call, indices: Value, unused: None, weights: Any
) -> tuple[str, ...]:
    """Reduce the rows of each bag of a (bags, rows) index."""
    module = call.module
    kind = {"sum": "ReduceSum", "mean": "ReduceMean", "max": "ReduceMax"}[module.mode]
    if module.padding_idx is not None:
        raise CannotTranslateError("bags with a padding_idx are not translated")
    rows = graph.node("Gather", weights[0][0], indices, axis=0)
    return (graph.node(kind, rows, graph.ints([1]), keepdims=0),)


@rule("one_hot")
def one_hot(graph: Graph, call: Call, indices: Value, classes: int) -> str:
    """Return 1 at each index, 0 elsewhere."""
    if classes < 0:
        raise CannotTranslateError("name the number of classes: num_classes=…")
    depth = graph.constant(np.array(classes, np.int64))
    return graph.node("OneHot", indices, depth, graph.ints([0, 1]), axis=-1)


@rule("gather")
def gather(
    graph: Graph, call: Call, x: Value, index: Value, dim: int, *sparse: Any
) -> str:
    """Pick along a dimension, element by element."""
    axis = axis_of(dim, x.ndim)
    corner = cut_to(graph, x, index.shape, axis)
    return graph.node("GatherElements", corner, index, axis=axis)


@rule("index_select")
def index_select(graph: Graph, call: Call, x: Value, index: Value, dim: int) -> str:
    """Pick slices along a dimension."""
    return graph.node("Gather", x, index, axis=axis_of(dim, x.ndim))


@rule("index")
def index(graph: Graph, call: Call, x: Value, places: Any) -> str:
    """Index as NumPy does: with one array a Gather, with several a GatherND."""
    arrays = [d for d, p in enumerate(places) if not isinstance(p, slice)]
    if len(arrays) == 1:
        place = places[arrays[0]]
        name = place.name if isinstance(place, Value) else graph.constant(place)
        return graph.node("Gather", x, name, axis=arrays[0])
    order, where, shape = in_front(graph, x, places)
    moved = graph.node("Transpose", x, perm=order)
    found = graph.node("GatherND", moved, where)
    n, lead = len(shape), lead_of(places)
    if not lead:
        return found
    total = n + x.ndim - len(arrays)
    back = [*range(n, n + lead), *range(n), *range(n + lead, total)]
    return graph.node("Transpose", found, perm=back)


def lead_of(places: Sequence[Any]) -> int:
    """Return how many dimensions of the result come before the indexed ones.

    Arrays side by side put theirs where the first of them stood, others in front.
    """
    arrays = [d for d, p in enumerate(places) if not isinstance(p, slice)]
    return arrays[0] if arrays[-1] - arrays[0] + 1 == len(arrays) else 0


def cut_to(graph: Graph, x: Value, shape: Sequence[Length], but: int | None) -> str:
    """Return the corner of a tensor that an index of this shape reaches."""
    found = x.name
    for axis, (ours, wanted) in enumerate(zip(x.shape, shape, strict=True)):
        if axis != but and ours != wanted:
            found = sliced(graph, found, axis, 0, wanted)
    return found


def in_front(
    graph: Graph, x: Value, places: Sequence[Any]
) -> tuple[list[int], str, tuple[Length, ...]]:
    """Return the order with indexed dimensions first, their indices, and the shape."""
    arrays = [d for d, p in enumerate(places) if not isinstance(p, slice)]
    order = [*arrays, *[d for d in range(x.ndim) if d not in arrays]]
    values = [_as_value(graph, places[d]) for d in arrays]
    shape = _broadcast([v.shape for v in values])
    columns: list[str] = []
    for value in values:
        wide = expanded(graph, graph.cast(value, int64), value.shape, shape)
        columns.append(graph.node("Unsqueeze", wide, graph.ints([-1])))
    return order, graph.node("Concat", *columns, axis=-1), shape


def _as_value(graph: Graph, place: Any) -> Value:
    if isinstance(place, Value):
        return place
    name = graph.constant(np.asarray(place, np.int64))
    return Value(name, tuple(int(n) for n in place.shape), int64)


def _broadcast(shapes: Sequence[tuple[Length, ...]]) -> tuple[Length, ...]:
    ndim = max(len(s) for s in shapes)
    whole = [(*(1,) * (ndim - len(s)), *s) for s in shapes]
    return tuple(
        next((n for n in sizes if n != 1), 1) for sizes in zip(*whole, strict=True)
    )


@rule("grid_sampler_2d")
def grid_sample(
    graph: Graph,
    call: Call,
    x: Value,
    grid: Value,
    mode: int,
    padding: int,
    corners: bool,
) -> str:
    """Sample a picture at the points of a grid."""
    old = ("bilinear", "nearest", "bicubic")
    names = old if graph.opset < 20 else ("linear", "nearest", "cubic")
    return graph.node(
        "GridSample",
        x,
        grid,
        mode=names[mode],
        padding_mode=("zeros", "border", "reflection")[padding],
        align_corners=int(corners),
    )


# ---- rules of ops that replace all or some elements of a tensor --------------


@rule("copy")
def copy(graph: Graph, call: Call, x: Value, source: Value, *options: Any) -> str:
    """Take another tensor's elements."""
    return _as(graph, graph.cast(source, x.dtype), source.shape, x)


@rule("fill")
def fill(graph: Graph, call: Call, x: Value, value: Any) -> str:
    """Set every element to a number."""
    shape = value.shape if isinstance(value, Value) else ()
    return _as(graph, graph.operand(value, x.dtype), shape, x)


@rule("zero")
def zero(graph: Graph, call: Call, x: Value) -> str:
    """Set every element to 0."""
    return _as(graph, graph.number(0, x.dtype), (), x)


@rule("zeros_like", "ones_like")
def like(graph: Graph, call: Call, x: Value) -> str:
    """A constant in the shape of a tensor."""
    out = call.outputs[0]
    number = graph.number(int(call.name == "ones_like"), out.dtype)
    return expanded(graph, number, (), out.shape)


def _as(graph: Graph, name: str, shape: Any, target: Value) -> str:
    return expanded(graph, name, shape, target.shape)


@rule("scatter", "scatter_add")
def scatter(
    graph: Graph, call: Call, x: Value, index: Value, source: Any, dim: Any = None
) -> str:
    """Put elements at positions along a dimension."""
    if isinstance(source, int) and not isinstance(dim, int):
        source, dim = dim, source
    if not isinstance(source, Value):
        source, dim = (dim, source) if isinstance(dim, Value) else (source, dim)
    reduction = "add" if call.name.startswith("scatter_add") else None
    if isinstance(source, Value):
        updates = cut_to(graph, source, index.shape, None)
    else:
        updates = expanded(graph, graph.number(source, x.dtype), (), index.shape)
    axis = axis_of(int(dim), x.ndim)
    return graph.node(
        "ScatterElements", x, index, updates, axis=axis, reduction=reduction
    )


@rule("index_put")
def index_put(
    graph: Graph, call: Call, x: Value, values: Value, places: Any, accumulate: bool
) -> str:
    """Write at index tensors: ScatterND, with the indexed dimensions in front."""
    order, index, shape = in_front(graph, x, places)
    count = sum(not isinstance(p, slice) for p in places)
    rest = [x.shape[d] for d in order[count:]]
    lead = lead_of(places)
    whole = (*rest[:lead], *shape, *rest[lead:])
    updates = expanded(graph, graph.cast(values, x.dtype), values.shape, whole)
    if lead:
        n = len(shape)
        turn = [*range(lead, lead + n), *range(lead), *range(lead + n, len(whole))]
        updates = graph.node("Transpose", updates, perm=turn)
    moved = graph.node("Transpose", x, perm=order)
    reduction = "add" if accumulate else None
    found = graph.node("ScatterND", moved, index, updates, reduction=reduction)
    return graph.node("Transpose", found, perm=[int(d) for d in np.argsort(order)])
