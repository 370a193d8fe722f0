"""Rules of convolutions, and of their windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._graph import Graph, Value, numpy_type
from .._record import Call
from .._table import CannotTranslateError, rule

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
