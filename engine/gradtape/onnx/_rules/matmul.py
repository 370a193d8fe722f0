"""Rules of matrix products."""

from __future__ import annotations

from typing import Any

from .._graph import Graph, Value
from .._record import Call
from .._table import rule
from .arithmetic import is_float, scaled
from .reduce import norm_of


@rule("mm", "bmm", "mv", "dot", "matmul")
def product(graph: Graph, call: Call, x: Value, y: Value) -> str:
    """x @ y."""
    return graph.node("MatMul", x, y)


@rule("addmm")
def addmm(
    graph: Graph, call: Call, x: Value, a: Value, b: Value, beta: Any, alpha: Any
) -> str:
    """beta * x + alpha * (a @ b); a transposed b, as a layer's weight, is read so."""
    if not is_float(x.dtype):
        return added(graph, call, x, a, b, beta, alpha)
    turned = graph.transposed.get(b.name)
    return graph.node(
        "Gemm",
        a,
        b if turned is None else turned,
        x,
        alpha=float(alpha),
        beta=float(beta),
        transB=None if turned is None else 1,
    )


@rule("baddbmm", "addmv")
def added(
    graph: Graph, call: Call, x: Value, a: Value, b: Value, beta: Any, alpha: Any
) -> str:
    """beta * x + alpha * (a @ b)."""
    found = Value(graph.node("MatMul", a, b), call.outputs[0].shape, x.dtype)
    rest = scaled(graph, x, beta, x.dtype)
    return graph.node("Add", rest, scaled(graph, found, alpha, x.dtype))


@rule("_trilinear")
def trilinear(
    graph: Graph, call: Call, x: Value, y: Value, z: Value, *dims: tuple[int, ...]
) -> str:
    """Multiply three tensors with dimensions inserted, then sum some."""
    wide = [
        graph.node("Unsqueeze", value, graph.ints(sorted(inserted)))
        if inserted
        else value.name
        for value, inserted in zip((x, y, z), dims[:3], strict=True)
    ]
    total = graph.node("Mul", graph.node("Mul", wide[0], wide[1]), wide[2])
    return graph.node("ReduceSum", total, graph.ints(dims[3]), keepdims=0)


@rule("_cdist_forward", "_euclidean_dist")
def cdist(graph: Graph, call: Call, x: Value, y: Value, p: float = 2.0) -> str:
    """Distances between all rows of x and all rows of y, in the p-norm."""
    rows = graph.node("Unsqueeze", x, graph.ints([-2]))
    columns = graph.node("Unsqueeze", y, graph.ints([-3]))
    apart = graph.node("Sub", rows, columns)
    return norm_of(graph, apart, x.dtype, p, [-1], False)
