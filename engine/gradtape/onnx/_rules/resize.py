"""Rules of interpolation, all of them ONNX's Resize."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._graph import Graph, Value
from .._record import Call
from .._table import RULES, rule
from .._varying import Length, Varying


def resized(
    graph: Graph, x: Value, sizes: Sequence[Length], scales: Sequence[Any], **how: Any
) -> str:
    """Append a Resize; scales where the call named them, sizes else."""
    lead = x.ndim - len(sizes)
    if all(s is not None for s in scales):
        factors = graph.constant(np.array([1.0] * lead + list(scales), np.float32))
        return graph.node("Resize", x, None, factors, **how)
    if not any(isinstance(n, Varying) for n in sizes):
        axes = list(range(lead, x.ndim))
        return graph.node("Resize", x, None, None, graph.ints(sizes), axes=axes, **how)
    whole = graph.ints([*x.shape[:lead], *sizes])
    return graph.node("Resize", x, None, None, whole, **how)


def _nearest(exact: bool) -> Any:
    how = (
        {
            "coordinate_transformation_mode": "half_pixel",
            "nearest_mode": "round_prefer_ceil",
        }
        if exact
        else {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    )

    def translate(graph: Graph, call: Call, x: Value, sizes: Any, *scales: Any) -> str:
        return resized(graph, x, sizes, scales, mode="nearest", **how)

    return translate


def _smooth(mode: str, antialias: bool) -> Any:
    def translate(
        graph: Graph, call: Call, x: Value, sizes: Any, corners: bool, *scales: Any
    ) -> str:
        return resized(
            graph,
            x,
            sizes,
            (None,) if corners else scales,
            mode=mode,
            cubic_coeff_a=-0.75 if mode == "cubic" else None,
            antialias=1 if antialias else None,
            coordinate_transformation_mode="align_corners" if corners else "half_pixel",
        )

    return translate


RULES.update({f"upsample_nearest{n}d": _nearest(False) for n in (1, 2, 3)})
RULES.update({f"_upsample_nearest_exact{n}d": _nearest(True) for n in (1, 2, 3)})
RULES["upsample_linear1d"] = _smooth("linear", False)
RULES["upsample_bilinear2d"] = _smooth("linear", False)
RULES["upsample_trilinear3d"] = _smooth("linear", False)
RULES["upsample_bicubic2d"] = _smooth("cubic", False)
RULES["_upsample_bilinear2d_aa"] = _smooth("linear", True)
RULES["_upsample_bicubic2d_aa"] = _smooth("cubic", True)


# ---- rules of ops that spread channels over pixels, and the other way round ----


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


# ---- padding: PyTorch counts from the last dimension ----


def _padded(
    graph: Graph, x: Value, pad: Sequence[Length], mode: str, value: str | None = None
) -> str:
    befores: list[Length] = [0] * x.ndim
    afters: list[Length] = [0] * x.ndim
    for i in range(len(pad) // 2):
        befores[-1 - i], afters[-1 - i] = pad[2 * i], pad[2 * i + 1]
    return graph.node("Pad", x, graph.ints([*befores, *afters]), value, mode=mode)


@rule("constant_pad_nd")
def constant_pad(
    graph: Graph, call: Call, x: Value, pad: Sequence[Length], value: Any
) -> str:
    """Pad with a number."""
    return _padded(graph, x, pad, "constant", graph.number(value, x.dtype))


def _border(mode: str) -> Any:
    def translate(graph: Graph, call: Call, x: Value, pad: Sequence[Length]) -> str:
        return _padded(graph, x, pad, mode)

    return translate


RULES.update({f"reflection_pad{n}d": _border("reflect") for n in (1, 2, 3)})
RULES.update({f"replication_pad{n}d": _border("edge") for n in (1, 2, 3)})
