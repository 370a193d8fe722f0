"""Says what is wrong with the gradients of one step: vanishing, exploding, NaN, dead.

Quiet by default: an unusual norm is named only where no healthy training has one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Literal

from gradviz import ir

Verdict = Literal["", "none", "zero", "vanishing", "exploding", "not finite"]

VANISHING = 1e-5
"""Elements this much smaller than those of the largest gradient hardly learn."""

MOVED = 0.01
"""Times the share by which a step usually changes a weight: who gets that much learns.
Adam and its like make as much of a small gradient as of a large one."""

EXPLODING = 100.0
"""Norms this much larger than the layer's own so far are no ordinary spike."""

_ENOUGH = 5  # earlier steps before a layer has an ordinary norm
_BEYOND = 1e5  # times the median of all layers, where there are no earlier steps


def judge(
    layers: Sequence[ir.FlowLayer],
    points: Sequence[ir.FlowPoint | None],
    ordinary: Sequence[float | None] | None = None,
) -> list[Verdict]:
    """Return the verdict on each layer at one step.

    ``ordinary`` holds the median norm of each layer before this step, None where too
    few steps are known.

    >>> layers = [ir.FlowLayer("a.weight", count=4), ir.FlowLayer("b.weight", count=4)]
    >>> judge(layers, [ir.FlowPoint(0, 0, norm=1.0), ir.FlowPoint(0, 1, norm=1e-7)])
    ['', 'vanishing']
    >>> judge(layers, [ir.FlowPoint(0, 0, norm=1.0, nans=1), None])
    ['not finite', 'none']
    """
    scales = [_scale(*pair) for pair in zip(layers, points, strict=True)]
    before = ordinary or [None] * len(layers)
    known = [scale for scale in scales if scale]
    middle = median(known) if known else 0.0
    found: list[Verdict] = [
        "" if layer.frozen and point is None else _alone(point, scale, middle, usual)
        for layer, point, scale, usual in zip(
            layers, points, scales, before, strict=True
        )
    ]
    # Beside a gradient that explodes all others look small.
    healthy = [s for s, word in zip(scales, found, strict=True) if s and not word]
    largest = max(healthy, default=0.0)
    shares = [_share(*pair) for pair in zip(layers, points, strict=True)]
    moved = MOVED * median([share for share in shares if share is not None] or [0.0])
    for row, (layer, share) in enumerate(zip(layers, shares, strict=True)):
        stands = share is None or share <= moved
        if not found[row] and stands and _is_tiny(layer, scales[row], largest):
            found[row] = "vanishing"
    return found


def _alone(
    point: ir.FlowPoint | None,
    scale: float | None,
    middle: float,
    usual: float | None,
) -> Verdict:
    """Judge one gradient by its own values and what the layer usually has."""
    if point is None or (point.norm is None and not point.nans + point.infs):
        return "none"
    if point.nans or point.infs:
        return "not finite"
    if not scale or point.norm is None:
        # Of a spread parameter this process may hold no element at all.
        return "zero" if point.zeros else ""
    if usual is None:
        return "exploding" if scale > 1 and scale > _BEYOND * middle else ""
    return "exploding" if point.norm > EXPLODING * usual else ""


def _is_tiny(layer: ir.FlowLayer, scale: float | None, largest: float) -> bool:
    # A bias that a normalisation takes out again has no gradient, and needs none.
    return not is_shift(layer) and bool(scale) and scale < VANISHING * largest


def _share(layer: ir.FlowLayer, point: ir.FlowPoint | None) -> float | None:
    """Return how much of itself a step changed a weight; a bias often begins at 0."""
    if point is None or point.update_norm is None or not point.weight_norm:
        return None
    return None if is_shift(layer) else point.update_norm / point.weight_norm


def is_shift(layer: ir.FlowLayer) -> bool:
    """Tell whether a parameter is a bias."""
    return "bias" in layer.name.rpartition(".")[2]


def _scale(layer: ir.FlowLayer, point: ir.FlowPoint | None) -> float | None:
    if point is None or point.norm is None or not math.isfinite(point.norm):
        return None
    return point.norm / math.sqrt(max(layer.count, 1))


class Usual:
    """The ordinary norm of each layer: the median of its last steps.

    >>> usual = Usual(room=8)
    >>> for norm in (1.0, 2.0, 1.0, 1.0, 3.0): usual.add(0, norm)
    >>> usual.of(0), usual.of(1)
    (1.0, None)
    """

    def __init__(self, room: int = 32) -> None:
        self._room = room
        self._seen: dict[int, list[float]] = {}

    def add(self, layer: int, norm: float | None) -> None:
        """Learn one more norm of a layer."""
        if norm is None or not math.isfinite(norm) or not norm:
            return
        seen = self._seen.setdefault(layer, [])
        seen.append(norm)
        if len(seen) > self._room:
            del seen[0]

    def of(self, layer: int) -> float | None:
        """Return the median norm, None before enough steps were seen."""
        seen = self._seen.get(layer, ())
        return median(seen) if len(seen) >= _ENOUGH else None


def judge_all(
    layers: Sequence[ir.FlowLayer],
    points: Sequence[Sequence[ir.FlowPoint | None]],
) -> list[list[Verdict]]:
    """Return the verdicts by layer and step; ``points`` are by layer, then by step."""
    usual = Usual()
    columns: list[list[Verdict]] = []
    for step in range(len(points[0]) if points else 0):
        column = [row[step] for row in points]
        ordinary = [usual.of(layer) for layer in range(len(layers))]
        columns.append(judge(layers, column, ordinary))
        for layer, point in enumerate(column):
            usual.add(layer, None if point is None else point.norm)
    return [[column[layer] for column in columns] for layer in range(len(layers))]
