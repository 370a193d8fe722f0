"""Reading images at points of a grid, and the derivatives of that."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from .interpolate import cubic_bends, cubic_slopes, cubic_weights

BILINEAR, NEAREST, BICUBIC = range(3)
ZEROS, BORDER, REFLECTION = range(3)


class Axis(NamedTuple):
    """What one dimension adds: places (N, P, taps), weights, and their slopes."""

    places: Any
    inside: Any  # None: all
    weights: Any
    slopes: Any
    bends: Any = None  # the slopes' slopes; None: all zero


def sampled(
    xp: Any, input: Any, grid: Any, mode: int, padding: int, align: bool
) -> Any:
    """Return (N, C, *out) of ``input`` (N, C, *in) at ``grid`` (N, *out, dims)."""
    batch, channels = input.shape[:2]
    axes = axes_of(xp, input, grid, mode, padding, align)
    flat = input.reshape(batch, channels, math.prod(input.shape[2:]))
    found: Any = xp.zeros((batch, channels, axes[0].places.shape[1]), input.dtype)
    for at, weight, _ in _taps(xp, axes, input.shape[2:]):
        part = xp.take_along_axis(flat, at[:, None], 2)
        found += xp.where(weight[:, None] != 0, part * weight[:, None], 0)
    return found.reshape(batch, channels, *grid.shape[1:-1])


def sampled_back(
    xp: Any,
    grad: Any,
    input: Any,
    grid: Any,
    mode: int,
    padding: int,
    align: bool,
    needs: tuple[bool, bool],
) -> tuple[Any, Any]:
    """Return the gradients of input and grid; None for what is not needed."""
    batch, channels = input.shape[:2]
    axes = axes_of(xp, input, grid, mode, padding, align)
    flat = input.reshape(batch, channels, math.prod(input.shape[2:]))
    rows = grad.reshape(batch, channels, math.prod(grad.shape[2:]))
    size = flat.shape[2]
    into_input = xp.zeros(batch * channels * size, grad.dtype) if needs[0] else None
    into_grid = xp.zeros((*rows.shape[::2], len(axes)), grad.dtype)
    first = xp.arange(batch * channels).reshape(batch, channels, 1) * size
    for at, weight, slopes in _taps(xp, axes, input.shape[2:]):
        if into_input is not None:
            part = rows * weight[:, None]
            xp.add.at(into_input, (first + at[:, None]).reshape(-1), part.reshape(-1))
        if needs[1] and mode != NEAREST:
            seen = (xp.take_along_axis(flat, at[:, None], 2) * rows).sum(1)
            for axis, slope in enumerate(slopes):
                into_grid[..., -1 - axis] += seen * slope
    return (
        None if into_input is None else into_input.reshape(input.shape),
        into_grid.reshape(grid.shape) if needs[1] else None,
    )


def _taps(
    xp: Any, axes: list[Axis], sizes: tuple[int, ...]
) -> Iterator[tuple[Any, Any, list[Any]]]:
    """Yield for each neighbour: place in the flat image, weight, slope per axis."""
    for combination in itertools.product(*(range(a.places.shape[2]) for a in axes)):
        at, inside = place_of(axes, combination, sizes)
        picked = [a.weights[..., tap] for a, tap in zip(axes, combination, strict=True)]
        weight = math.prod(picked[1:], start=picked[0])
        slopes: list[Any] = []
        for number, axis in enumerate(axes):
            rest = [w for i, w in enumerate(picked) if i != number]
            slope = axis.slopes[..., combination[number]]
            slope = math.prod(rest, start=slope)
            slopes.append(slope if inside is None else xp.where(inside, slope, 0))
        yield at, weight if inside is None else xp.where(inside, weight, 0), slopes


def place_of(
    axes: list[Axis], taps: tuple[int, ...], sizes: tuple[int, ...]
) -> tuple[Any, Any]:
    """Return a neighbour's place in the flat image, and if it is inside (None: all)."""
    at: Any = 0
    inside: Any = None
    for axis, tap, size in zip(axes, taps, sizes, strict=True):
        at = at * size + axis.places[..., tap]
        if axis.inside is not None:
            own = axis.inside[..., tap]
            inside = own if inside is None else inside & own
    return at, inside


def axes_of(
    xp: Any, input: Any, grid: Any, mode: int, padding: int, align: bool
) -> list[Axis]:
    """Read the grid, whose last dimension counts from the image's last."""
    dims = grid.shape[-1]
    flat = grid.reshape(grid.shape[0], math.prod(grid.shape[1:-1]), dims)
    sizes = input.shape[2:]
    return [
        _axis(xp, flat[..., dims - 1 - axis], sizes[axis], mode, padding, align)
        for axis in range(dims)
    ]


def _axis(xp: Any, x: Any, size: int, mode: int, padding: int, align: bool) -> Axis:
    kind = x.dtype
    factor = kind.type((size - 1) / 2 if align else size / 2)
    x = (x + 1) * factor - (0 if align else kind.type(0.5))
    slope = xp.full(x.shape, factor, kind)
    if mode != BICUBIC:
        x, by = _kept(xp, x, size, padding, align)
        slope = slope * by
    x = xp.where(xp.isfinite(x) & (xp.abs(x) < 2**30), x, kind.type(-100))
    if mode == NEAREST:
        near = xp.rint(x)[..., None]
        one = xp.ones(near.shape, kind)
        return _bounded(xp, near, size, one, one * 0)
    low = xp.floor(x)
    part = x - low
    if mode == BILINEAR:
        places = xp.stack([low, low + 1], -1)
        weights = xp.stack([1 - part, part], -1)
        slopes = xp.stack([-slope, slope], -1)
        return _bounded(xp, places, size, weights, slopes)
    places = low[..., None] + xp.arange(-1, 3, dtype=kind)
    places, _ = _kept(xp, places, size, padding, align)
    weights = cubic_weights(xp, part)
    slopes = cubic_slopes(xp, part) * slope[..., None]
    bends = cubic_bends(xp, part) * (slope * slope)[..., None]
    # What reflects into the image may lie between pixels: PyTorch cuts it off.
    found = _bounded(xp, xp.trunc(places), size, weights, slopes)
    return found._replace(bends=bends)


def _bounded(xp: Any, places: Any, size: int, weights: Any, slopes: Any) -> Axis:
    inside = (places >= 0) & (places <= size - 1)
    at = xp.clip(places, 0, size - 1).astype("int64")
    return Axis(at, None if inside.all() else inside, weights, slopes)


def _kept(xp: Any, x: Any, size: int, padding: int, align: bool) -> tuple[Any, Any]:
    """Bring places outside back in, as the padding mode says; return also the slope."""
    if padding == ZEROS:
        return x, xp.ones(x.shape, x.dtype)
    slope = xp.ones(x.shape, x.dtype)
    if padding == REFLECTION:
        low, span = (0.0, size - 1.0) if align else (-0.5, float(size))
        if span == 0:
            return xp.zeros(x.shape, x.dtype), slope * 0
        away = x - x.dtype.type(low)
        slope = xp.where(away < 0, -slope, slope)
        away = xp.abs(away)
        rest = xp.fmod(away, x.dtype.type(span))
        odd = xp.floor(away / x.dtype.type(span)) % 2 == 1
        slope = xp.where(odd, -slope, slope)
        x = xp.where(odd, x.dtype.type(span) - rest, rest) + x.dtype.type(low)
    slope = xp.where((x <= 0) | (x >= size - 1), 0, slope)
    return xp.clip(x, 0, size - 1), slope


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
