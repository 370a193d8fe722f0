"""Rules of reductions, scans and orders."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._dtypes import bool_, int32, int64
from .._graph import Graph, Value
from .._record import Call
from .._table import RULES, rule
from .._varying import product
from .arithmetic import is_float, scaled
from .shape import axis_of

_REDUCTIONS = {
    "amax": "ReduceMax",
    "amin": "ReduceMin",
    "logsumexp": "ReduceLogSumExp",
    "mean": "ReduceMean",
    "prod": "ReduceProd",
    "sum": "ReduceSum",
}


def reduced(
    graph: Graph, kind: str, name: str, dims: Any, keepdim: bool, ndim: int
) -> str:
    """Append a reduction over dimensions; all of them where there are none."""
    dims = (dims,) if isinstance(dims, int) else dims
    axes = graph.ints([axis_of(d, ndim) for d in dims]) if dims else None
    return graph.node(kind, name, axes, keepdims=int(keepdim))


def _reduction(kind: str) -> Any:
    def translate(
        graph: Graph,
        call: Call,
        x: Value,
        dim: Any = None,
        keepdim: bool = False,
        *_: Any,
    ) -> str:
        if not isinstance(keepdim, bool):  # an overload without dimensions
            keepdim = False
        dim = dim if isinstance(dim, int | tuple) else None
        name = graph.cast(x, call.outputs[0].dtype)
        return reduced(graph, kind, name, dim, keepdim, x.ndim)

    return translate


RULES.update({name: _reduction(kind) for name, kind in _REDUCTIONS.items()})


@rule("max", "min")
def extreme(
    graph: Graph, call: Call, x: Value, dim: Any = None, keepdim: bool = False
) -> Any:
    """The largest or smallest, with its position where a dimension is named."""
    way = call.name.capitalize()
    found = reduced(graph, f"Reduce{way}", x.name, dim, keepdim, x.ndim)
    if dim is None:
        return found
    where = graph.node(f"Arg{way}", x, axis=axis_of(dim, x.ndim), keepdims=int(keepdim))
    return found, where


@rule("argmax", "argmin")
def arg_extreme(
    graph: Graph, call: Call, x: Value, dim: int | None, keepdim: bool
) -> str:
    """The position of the largest or smallest."""
    kind = {"argmax": "ArgMax", "argmin": "ArgMin"}[call.name]
    if dim is not None:
        return graph.node(kind, x, axis=axis_of(dim, x.ndim), keepdims=int(keepdim))
    flat = graph.node("Reshape", x, graph.ints([-1]))
    found = graph.node(kind, flat, axis=0, keepdims=0)
    return graph.reshape(found, (), call.outputs[0].shape) if keepdim else found


@rule("any", "all")
def logic(
    graph: Graph, call: Call, x: Value, dim: Any = None, keepdim: bool = False
) -> str:
    """Whether some, or all, differ from zero."""
    truth = Value(graph.cast(x, bool_), x.shape, bool_)
    numbers = graph.cast(truth, int32)
    kind = "ReduceMax" if call.name == "any" else "ReduceMin"
    found = reduced(graph, kind, numbers, dim, bool(keepdim), x.ndim)
    return graph.cast(Value(found, (), int32), bool_)


@rule("count_nonzero")
def count_nonzero(graph: Graph, call: Call, x: Value, dim: Any = None) -> str:
    """How many differ from zero."""
    truth = Value(graph.cast(x, bool_), x.shape, bool_)
    return reduced(graph, "ReduceSum", graph.cast(truth, int64), dim, False, x.ndim)


@rule("var", "std")
def spread(
    graph: Graph, call: Call, x: Value, dim: Any, correction: Any, keepdim: bool
) -> str:
    """The variance with a correction to the number of elements, or its root."""
    variance = _variance(graph, x, dim, correction, keepdim)
    return graph.node("Sqrt", variance) if call.name == "std" else variance


@rule("var_mean", "std_mean")
def spread_and_mean(
    graph: Graph, call: Call, x: Value, dim: Any, correction: Any, keepdim: bool
) -> tuple[str, str]:
    """The variance, or its root, and the mean."""
    found = _variance(graph, x, dim, correction, keepdim)
    if call.name == "std_mean":
        found = graph.node("Sqrt", found)
    return found, reduced(graph, "ReduceMean", x.name, dim, keepdim, x.ndim)


def _variance(graph: Graph, x: Value, dim: Any, correction: Any, keepdim: bool) -> str:
    dims: Sequence[int] = (dim,) if isinstance(dim, int) else dim or range(x.ndim)
    mean = reduced(graph, "ReduceMean", x.name, dim, True, x.ndim)
    apart = graph.node("Sub", x, mean)
    total = reduced(graph, "ReduceSumSquare", apart, dim, keepdim, x.ndim)
    count = product([x.shape[d] for d in dims])
    freedom = graph.number(count, x.dtype)
    correction = 1 if correction is None else correction
    if correction:
        freedom = graph.node("Sub", freedom, graph.number(correction, x.dtype))
    return graph.node("Div", total, freedom)


@rule("linalg_vector_norm")
def vector_norm(
    graph: Graph, call: Call, x: Value, order: float, dim: Any, keepdim: bool, *_: Any
) -> str:
    """The p-norm along dimensions."""
    dtype = call.outputs[0].dtype
    dims = (dim,) if isinstance(dim, int) else dim
    axes = [axis_of(d, x.ndim) for d in dims] if dims else None
    return norm_of(graph, graph.cast(x, dtype), dtype, order, axes, keepdim)


@rule("norm")
def norm_along(
    graph: Graph, call: Call, x: Value, order: float, dim: Any, keepdim: bool
) -> str:
    """The p-norm along one dimension."""
    return vector_norm(graph, call, x, order, dim, keepdim)


def norm_of(
    graph: Graph, name: str, dtype: Any, order: float, axes: Any, keepdim: bool
) -> str:
    """Append a p-norm."""
    where = graph.ints(axes) if axes else None
    keep = int(keepdim)
    if order in (1, 2):
        return graph.node(f"ReduceL{int(order)}", name, where, keepdims=keep)
    size = graph.node("Abs", name)
    if math.isinf(order):
        kind = "ReduceMax" if order > 0 else "ReduceMin"
        return graph.node(kind, size, where, keepdims=keep)
    raised = graph.node("Pow", size, graph.number(order, dtype))
    total = graph.node("ReduceSum", raised, where, keepdims=keep)
    return graph.node("Pow", total, graph.number(1 / order, dtype))


@rule("cumsum")
def cumsum(graph: Graph, call: Call, x: Value, dim: int, *_: Any) -> str:
    """Running totals."""
    name = graph.cast(x, call.outputs[0].dtype)
    axis = axis_of(dim, x.ndim)
    return graph.node("CumSum", name, graph.constant(np.array(axis, np.int64)))


@rule("topk")
def topk(
    graph: Graph, call: Call, x: Value, k: Any, dim: int, largest: bool, *_: Any
) -> tuple[str, ...]:
    """The k largest or smallest, and their positions."""
    axis = axis_of(dim, x.ndim)
    return graph.nodes_of(
        "TopK", 2, x, graph.ints([k]), axis=axis, largest=int(largest)
    )


@rule("sort")
def sort(
    graph: Graph, call: Call, x: Value, dim: int, descending: bool, *_: Any
) -> tuple[str, ...]:
    """All elements in order, and their positions."""
    axis = axis_of(dim, x.ndim)
    count = graph.ints([x.shape[axis]])
    return graph.nodes_of("TopK", 2, x, count, axis=axis, largest=int(descending))


# ---- rules of matrix products ------------------------------------------------


@rule("mm", "bmm", "mv", "dot", "matmul")
def matrix_product(graph: Graph, call: Call, x: Value, y: Value) -> str:
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
