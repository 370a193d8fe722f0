"""Rules of normalisations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._graph import Graph, Value, numpy_type
from .._record import Call
from .._table import CannotTranslateError, rule


def _full(graph: Graph, value: int, sizes: Sequence[int], dtype: Any) -> str:
    return graph.constant(np.full(sizes, value, numpy_type(dtype)))


@rule("native_batch_norm")
def batch_norm(
    graph: Graph,
    call: Call,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    mean: Value | None,
    variance: Value | None,
    training: bool,
    eps: float,
    *options: Any,
) -> tuple[str, None, None]:
    """BatchNormalization; with the batch's own statistics, as instance norms do."""
    if training:
        if mean is not None:
            raise CannotTranslateError(
                "in training mode it updates running statistics: call model.eval() "
                "first"
            )
        return _own_statistics(graph, x, weight, bias, eps), None, None
    channels = x.shape[1]
    if (weight is None or bias is None) and not isinstance(channels, int):
        raise CannotTranslateError("its channels follow a dynamic axis")
    scale = weight or _full(graph, 1, [channels], x.dtype)  # type: ignore[list-item]
    shift = bias or _full(graph, 0, [channels], x.dtype)  # type: ignore[list-item]
    found = graph.node(
        "BatchNormalization", x, scale, shift, mean, variance, epsilon=eps
    )
    return found, None, None


def _own_statistics(
    graph: Graph, x: Value, weight: Value | None, bias: Value | None, eps: float
) -> str:
    axes = graph.ints([d for d in range(x.ndim) if d != 1])
    apart = graph.node("Sub", x, graph.node("ReduceMean", x, axes, keepdims=1))
    squares = graph.node("Mul", apart, apart)
    variance = graph.node("ReduceMean", squares, axes, keepdims=1)
    spread = graph.node("Sqrt", graph.node("Add", variance, graph.number(eps, x.dtype)))
    found = graph.node("Div", apart, spread)
    return _affine(graph, found, weight, bias, [1, -1, *(1,) * (x.ndim - 2)])


def _affine(
    graph: Graph, name: str, weight: Value | None, bias: Value | None, shape: list[int]
) -> str:
    for kind, value in (("Mul", weight), ("Add", bias)):
        if value is not None:
            wide = graph.node("Reshape", value, graph.ints(shape))
            name = graph.node(kind, name, wide)
    return name


@rule("native_layer_norm")
def layer_norm(
    graph: Graph,
    call: Call,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    sizes: Sequence[int],
    eps: float,
) -> tuple[str, None, None]:
    """LayerNormalization over the last dimensions."""
    scale = weight or _full(graph, 1, sizes, x.dtype)
    found = graph.node(
        "LayerNormalization", x, scale, bias, axis=-len(sizes), epsilon=eps
    )
    return found, None, None


@rule("native_group_norm")
def group_norm(
    graph: Graph,
    call: Call,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    batch: Any,
    channels: Any,
    area: Any,
    groups: int,
    eps: float,
) -> tuple[str, None, None]:
    """InstanceNormalization of groups of channels as one channel each."""
    flat = graph.node("Reshape", x, graph.ints([0, groups, -1]))
    ones, zeros = (_full(graph, n, [groups], x.dtype) for n in (1, 0))
    even = graph.node("InstanceNormalization", flat, ones, zeros, epsilon=eps)
    found = graph.node("Reshape", even, graph.node("Shape", x))
    shape = [1, -1, *(1,) * (x.ndim - 2)]
    return _affine(graph, found, weight, bias, shape), None, None


@rule("_weight_norm_interface")
def weight_norm(
    graph: Graph, call: Call, v: Value, g: Value, dim: int
) -> tuple[str, None]:
    """g * v / |v|, with the norm over all dimensions but one."""
    axes = graph.ints([d for d in range(v.ndim) if d != dim])
    length = graph.node("ReduceL2", v, axes, keepdims=1)
    return graph.node("Mul", v, graph.node("Div", g, length)), None
