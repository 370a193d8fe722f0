"""Rules of ops that replace all or some elements of a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._graph import Graph, Value
from .._record import Call
from .._table import rule
from .index import cut_to, in_front, lead_of
from .shape import axis_of, expanded


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
