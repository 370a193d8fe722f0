"""What the derivatives of reading an image between pixels hand back themselves."""

from __future__ import annotations

import itertools
import math
from typing import Any

from .grid_sample import Axis, axes_of, place_of


def sampled_twice(
    xp: Any,
    into_input: Any,
    into_grid: Any,
    grad: Any,
    input: Any,
    grid: Any,
    mode: int,
    padding: int,
    align: bool,
) -> tuple[Any, Any, Any]:
    """Return the gradients of ``grad``, ``input`` and ``grid`` in sampled_back().

    ``into_input`` and ``into_grid`` are the gradients of its two results.
    """
    batch, channels = input.shape[:2]
    axes = axes_of(xp, input, grid, mode, padding, align)
    size = math.prod(input.shape[2:])
    seen, given = (a.reshape(batch, channels, size) for a in (input, into_input))
    rows = grad.reshape(batch, channels, math.prod(grad.shape[2:]))
    turns = into_grid.reshape(batch, rows.shape[2], len(axes))[..., ::-1]
    for_grad = xp.zeros(rows.shape, grad.dtype)
    for_input = xp.zeros(batch * channels * size, grad.dtype)
    for_grid = xp.zeros(turns.shape, grad.dtype)
    first = xp.arange(batch * channels).reshape(batch, channels, 1) * size
    for taps in itertools.product(*(range(a.places.shape[2]) for a in axes)):
        at, inside = place_of(axes, taps, input.shape[2:])
        kept = 1 if inside is None else inside
        weight, slopes, bends = _weights(axes, taps, kept)
        turn: Any = sum(s * turns[..., i] for i, s in enumerate(slopes))
        pixel, change = (xp.take_along_axis(a, at[:, None], 2) for a in (seen, given))
        for_grad += change * weight[:, None] + pixel * turn[:, None]
        part = rows * turn[:, None]
        xp.add.at(for_input, (first + at[:, None]).reshape(-1), part.reshape(-1))
        by_change, by_pixel = ((a * rows).sum(1) for a in (change, pixel))
        for i, slope in enumerate(slopes):
            bent = sum(b * turns[..., j] for j, b in enumerate(bends[i]))
            for_grid[..., i] += by_change * slope + by_pixel * bent
    return (
        for_grad.reshape(grad.shape),
        for_input.reshape(input.shape),
        for_grid[..., ::-1].reshape(grid.shape),
    )


def _weights(
    axes: list[Axis], taps: tuple[int, ...], kept: Any
) -> tuple[Any, list[Any], list[list[Any]]]:
    """Return a neighbour's weight, its first derivatives, and its second ones."""
    parts = [
        (a.weights[..., t], a.slopes[..., t], 0 if a.bends is None else a.bends[..., t])
        for a, t in zip(axes, taps, strict=True)
    ]

    def product(*orders: int) -> Any:
        return math.prod((p[o] for p, o in zip(parts, orders, strict=True)), start=kept)

    count = range(len(axes))
    none = [0] * len(axes)
    slopes = [product(*(int(i == j) for j in count)) for i in count]
    bends = [
        [product(*(int(i == k) + int(j == k) for k in count)) for j in count]
        for i in count
    ]
    return product(*none), slopes, bends
