"""Rules of convolutions, and of their windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._dtypes import int64
from .._graph import Graph, Value, numpy_type
from .._record import Call
from .._table import CannotTranslateError, rule
from .._varying import Length, Varying, product
from .shape import sliced

Sizes = Sequence[int]


@rule("convolution")
def convolution(
    graph: Graph,
    call: Call,
    x: Value,
    weight: Value,
    bias: Value | None,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    transposed: bool,
    output_padding: Sizes,
    groups: int,
) -> str:
    """Conv, or ConvTranspose; ONNX pads each side by itself."""
    places = weight.ndim - 2

    def each(sizes: Sizes) -> list[int]:
        return list(sizes) * places if len(sizes) == 1 else list(sizes)

    kind = "ConvTranspose" if transposed else "Conv"
    more = {"output_padding": each(output_padding)} if transposed else {}
    return graph.node(
        kind,
        x,
        weight,
        bias,
        kernel_shape=list(weight.shape[2:]),
        strides=each(stride),
        pads=each(padding) * 2,
        dilations=each(dilation),
        group=groups,
        **more,
    )


@rule("im2col")
def im2col(
    graph: Graph,
    call: Call,
    x: Value,
    kernel_size: Sizes,
    dilation: Sizes,
    padding: Sizes,
    stride: Sizes,
) -> str:
    """Windows as columns: a convolution with one kernel per place of the window."""
    channels = x.shape[-3]
    if not isinstance(channels, int) or x.ndim != 4:
        raise CannotTranslateError("it needs a batch and a fixed number of channels")
    cells = kernel_size[0] * kernel_size[1]
    kernel = np.tile(np.eye(cells).reshape(cells, 1, *kernel_size), (channels, 1, 1, 1))
    found = graph.node(
        "Conv",
        x,
        graph.constant(kernel.astype(numpy_type(x.dtype))),
        kernel_shape=list(kernel_size),
        strides=list(stride),
        pads=list(padding) * 2,
        dilations=list(dilation),
        group=channels,
    )
    return graph.node("Reshape", found, graph.ints([0, channels * cells, -1]))


@rule("col2im")
def col2im(
    graph: Graph,
    call: Call,
    x: Value,
    output_size: Sizes,
    kernel_size: Sizes,
    dilation: Sizes,
    padding: Sizes,
    stride: Sizes,
) -> str:
    """Add up columns at their windows."""
    return graph.node(
        "Col2Im",
        x,
        graph.ints(output_size),
        graph.ints(kernel_size),
        dilations=list(dilation),
        pads=list(padding) * 2,
        strides=list(stride),
    )


def no_batch(x: Value, places: int) -> bool:
    """Say whether a picture comes without a batch dimension."""
    return x.ndim == places + 1


def batched(graph: Graph, x: Value, places: int) -> Any:
    """Return the name of a picture with a batch dimension."""
    return (
        graph.node("Unsqueeze", x, graph.ints([0])) if no_batch(x, places) else x.name
    )


def unbatched(graph: Graph, name: str, x: Value, places: int) -> str:
    """Undo :func:`batched`."""
    return graph.node("Squeeze", name, graph.ints([0])) if no_batch(x, places) else name


# ---- rules of pooling --------------------------------------------------------


def _each(sizes: Sizes, places: int) -> list[int]:
    return list(sizes) * places if len(sizes) == 1 else list(sizes)


@rule("max_pool2d_with_indices", "max_pool3d_with_indices")
def max_pool(
    graph: Graph,
    call: Call,
    x: Value,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    ceil_mode: bool,
) -> tuple[str, ...]:
    """MaxPool; ONNX's positions count through the batch, PyTorch's start anew."""
    places = 3 if "3d" in call.name else 2
    kernel = _each(kernel_size, places)
    found, where = graph.nodes_of(
        "MaxPool",
        2,
        batched(graph, x, places),
        kernel_shape=kernel,
        strides=_each(stride, places) or kernel,
        pads=_each(padding, places) * 2,
        dilations=_each(dilation, places),
        ceil_mode=int(ceil_mode),
    )
    area = graph.number(product(x.shape[-places:]), int64)
    where = graph.node("Mod", where, area)
    return unbatched(graph, found, x, places), unbatched(graph, where, x, places)


@rule("avg_pool2d", "avg_pool3d")
def average_pool(
    graph: Graph,
    call: Call,
    x: Value,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> str:
    """AveragePool, scaled where a divisor is named."""
    places = 3 if "3d" in call.name else 2
    kernel, pads = _each(kernel_size, places), _each(padding, places)
    if ceil_mode and graph.opset < 19 and (any(pads) or divisor):
        raise CannotTranslateError("ceil_mode with padding needs opset_version=19")
    found = graph.node(
        "AveragePool",
        batched(graph, x, places),
        kernel_shape=kernel,
        strides=_each(stride, places) or kernel,
        pads=pads * 2,
        ceil_mode=int(ceil_mode),
        count_include_pad=int(count_include_pad or divisor is not None),
    )
    if divisor is not None:
        factor = graph.number(product(kernel) / divisor, x.dtype)  # type: ignore[operator]
        found = graph.node("Mul", found, factor)
    return unbatched(graph, found, x, places)


@rule("adaptive_avg_pool2d", "adaptive_avg_pool3d")
def adaptive_average(graph: Graph, call: Call, x: Value, output_size: Any) -> str:
    """Means of windows that divide each dimension as evenly as they can."""
    return _adaptive(graph, "ReduceMean", x, call.outputs[0].shape)


@rule("adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_max(
    graph: Graph, call: Call, x: Value, output_size: Any
) -> tuple[str, None]:
    """The largest of such windows; their positions are not exported."""
    return _adaptive(graph, "ReduceMax", x, call.outputs[0].shape), None


def _adaptive(graph: Graph, kind: str, x: Value, out: Sequence[Length]) -> str:
    found = x.name
    for axis, (length, count) in enumerate(zip(x.shape, out, strict=True)):
        if length == count:
            continue
        if count == 1:
            found = graph.node(kind, found, graph.ints([axis]), keepdims=1)
            continue
        if isinstance(length, Varying) or isinstance(count, Varying):
            raise CannotTranslateError(
                "the windows follow a dynamic axis. Pool to size 1, or export with "
                "this axis fixed"
            )
        edges = np.arange(count)
        starts, ends = edges * length // count, -((edges + 1) * -length // count)
        parts = [
            graph.node(
                kind,
                sliced(graph, found, axis, int(start), int(end)),
                graph.ints([axis]),
                keepdims=1,
            )
            for start, end in zip(starts, ends, strict=True)
        ]
        found = graph.node("Concat", *parts, axis=axis)
    return found
