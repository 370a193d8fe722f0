"""Rules of interpolation, all of them ONNX's Resize."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._graph import Graph, Value
from .._record import Call
from .._table import RULES
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
