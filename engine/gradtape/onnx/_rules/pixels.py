"""Rules of ops that spread channels over pixels, and the other way round."""

from __future__ import annotations

from collections.abc import Sequence

from .._graph import Graph, Value
from .._record import Call
from .._table import rule
from .._varying import Length, Varying


def _rearranged(
    graph: Graph, call: Call, x: Value, split: Sequence[Length], order: Sequence[int]
) -> str:
    """Split dimensions, put them into another order and join them."""
    parts = graph.reshape(x, x.shape, split)
    turned = graph.node("Transpose", parts, perm=list(order))
    between = [split[d] for d in order]
    return graph.reshape(turned, between, call.outputs[0].shape)


@rule("pixel_shuffle")
def pixel_shuffle(graph: Graph, call: Call, x: Value, upscale_factor: int) -> str:
    """Turn (…, C r², H, W) into (…, C, H r, W r)."""
    if x.ndim == 4:
        return graph.node("DepthToSpace", x, blocksize=upscale_factor, mode="CRD")
    n, r = x.ndim - 3, upscale_factor
    split = (*x.shape[:n], call.outputs[0].shape[n], r, r, *x.shape[-2:])
    return _rearranged(
        graph, call, x, split, (*range(n + 1), n + 3, n + 1, n + 4, n + 2)
    )


@rule("pixel_unshuffle")
def pixel_unshuffle(graph: Graph, call: Call, x: Value, downscale_factor: int) -> str:
    """Turn (…, C, H r, W r) into (…, C r², H, W)."""
    n, r = x.ndim - 3, downscale_factor
    height, width = call.outputs[0].shape[-2:]
    split = (*x.shape[: n + 1], height, r, width, r)
    return _rearranged(
        graph, call, x, split, (*range(n + 1), n + 2, n + 4, n + 1, n + 3)
    )


@rule("channel_shuffle")
def channel_shuffle(graph: Graph, call: Call, x: Value, groups: int) -> str:
    """Take channels from each group in turn."""
    samples, channels, *rest = x.shape
    each = -1 if isinstance(channels, Varying) else channels // groups
    split = (samples, groups, each, *rest)
    return _rearranged(graph, call, x, split, (0, 2, 1, *range(3, x.ndim + 1)))
