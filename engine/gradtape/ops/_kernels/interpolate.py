"""Where the values of a resized dimension come from, and with which weights.

Every mode is, per dimension, a short weighted sum of inputs for each output. The
adjoint has the same form, so both directions are gathers, and no value meets another by
chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Sizes = tuple[int, ...]
Scales = tuple[float | None, ...]


class Taps(NamedTuple):
    """For each output: positions in the input, (out, taps), and their weights."""

    places: Any
    weights: Any


def resized(
    xp: Any, array: Any, kind: str, sizes: Sizes, align: bool, scales: Scales
) -> Any:
    """Return (N, C, *spatial) at other spatial sizes."""
    return _gathered(
        xp, array, _all_taps(kind, array, array.shape, sizes, align, scales)
    )


def spread_back(
    xp: Any,
    grad: Any,
    shape: Sizes,
    kind: str,
    sizes: Sizes,
    align: bool,
    scales: Scales,
) -> Any:
    """Return the adjoint of :func:`resized`: the gradient of its input."""
    taps = _all_taps(kind, grad, shape, sizes, align, scales)
    turned = [_turned(t, n) for t, n in zip(taps, shape[2:], strict=True)]
    return _gathered(xp, grad, turned)


def _all_taps(
    kind: str, like: Any, shape: Sizes, sizes: Sizes, align: bool, scales: Scales
) -> list[Taps]:
    number = np.float64 if like.dtype.name == "float64" else np.float32
    return [
        _taps(kind, n, size, align, scale, number)
        for n, size, scale in zip(shape[2:], sizes, scales, strict=True)
    ]


def _gathered(xp: Any, array: Any, taps: list[Taps]) -> Any:
    wide = array.dtype.name in ("float32", "float64") or array.dtype.kind == "c"
    found = array if wide else array.astype("float32")
    for axis, (places, weights) in enumerate(taps, 2):
        if weights is None:
            found = array = xp.take(array, xp.asarray(places[:, 0]), axis=axis)
            wide = True
            continue
        along = (-1, *(1,) * (found.ndim - axis - 1))
        total: Any = None
        for tap in range(places.shape[1]):
            part = xp.take(found, xp.asarray(places[:, tap]), axis=axis)
            weight = xp.asarray(weights[:, tap], found.dtype).reshape(along)
            part *= weight
            total = part if total is None else xp.add(total, part, total)
        found = total
    if wide:
        return xp.ascontiguousarray(found)
    if array.dtype.kind in "iu":
        found = xp.clip(xp.floor(found + 0.5), 0, 255)
    return found.astype(array.dtype)


def _turned(taps: Taps, count: int) -> Taps:
    """Return the adjoint: for each input, the outputs it went into."""
    places, weights = taps
    if weights is None:
        weights = np.ones(places.shape, np.float32)
    rows = np.repeat(np.arange(len(places)), places.shape[1])
    flat, factors = places.ravel(), weights.ravel()
    order = np.argsort(flat, kind="stable")
    flat, rows, factors = flat[order], rows[order], factors[order]
    starts = np.searchsorted(flat, np.arange(count))
    rank = np.arange(len(flat)) - starts[flat]
    width = int(rank.max()) + 1 if len(flat) else 1
    found = np.zeros((count, width), np.intp)
    found_weights = np.zeros((count, width), factors.dtype)
    first = rows[np.minimum(starts, len(rows) - 1)]
    found[...] = first[:, None]  # what fills up a row must not bring in other values
    found[flat, rank] = rows
    found_weights[flat, rank] = factors
    return Taps(found, found_weights)


def _taps(
    kind: str, n: int, size: int, align: bool, scale: float | None, number: Any
) -> Taps:
    if kind.startswith("nearest"):
        return Taps(_nearest(kind, n, size, scale)[:, None], None)
    if kind.endswith("_aa"):
        return _smoothed(kind, n, size, align, scale, number)
    step = _step(n, size, align, scale, number)
    out = np.arange(size, dtype=number)
    source = step * out if align else step * (out + number(0.5)) - number(0.5)
    if kind == "linear":
        source = np.maximum(source, 0)
        if n == size:
            source = out
    low = np.minimum(np.floor(source).astype(np.intp), n - 1)  # n may be no float32
    part = np.clip(source - low, 0, 1).astype(number)
    if kind == "linear":
        high = np.minimum(low + 1, n - 1)
        return Taps(np.stack([low, high], 1), np.stack([1 - part, part], 1))
    around = low[:, None] + np.arange(-1, 3)
    return Taps(np.clip(around, 0, n - 1), cubic_weights(np, part))


def _step(n: int, size: int, align: bool, scale: float | None, number: Any) -> Any:
    """Return how far apart outputs lie, in inputs."""
    if align:
        return number((n - 1) / (size - 1)) if size > 1 else number(0)
    return number(1.0 / scale) if scale else number(n / size)


def _nearest(kind: str, n: int, size: int, scale: float | None) -> Any:
    out = np.arange(size)
    if n == size:
        return out
    if kind == "nearest" and size == 2 * n:
        return out // 2
    step = np.float32(1.0 / scale) if scale else np.float32(n) / np.float32(size)
    shift = np.float32(0 if kind == "nearest" else 0.5)
    source = np.floor((out.astype(np.float32) + shift) * step)
    return np.minimum(source.astype(np.intp), n - 1)


def cubic_weights(xp: Any, t: Any, a: float = -0.75) -> Any:
    """Return the weights of four neighbours at a place between the middle two."""

    def near(x: Any) -> Any:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Any) -> Any:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return xp.stack([far(t + 1), near(t), near(1 - t), far(2 - t)], -1)


def cubic_slopes(xp: Any, t: Any, a: float = -0.75) -> Any:
    """Return the derivatives of :func:`cubic_weights` by the place."""

    def near(x: Any) -> Any:
        return (3 * (a + 2) * x - 2 * (a + 3)) * x

    def far(x: Any) -> Any:
        return (3 * a * x - 10 * a) * x + 8 * a

    return xp.stack([far(t + 1), near(t), -near(1 - t), -far(2 - t)], -1)


def cubic_bends(xp: Any, t: Any, a: float = -0.75) -> Any:
    """Return the second derivatives of :func:`cubic_weights` by the place."""

    def near(x: Any) -> Any:
        return 6 * (a + 2) * x - 2 * (a + 3)

    def far(x: Any) -> Any:
        return 6 * a * x - 10 * a

    return xp.stack([far(t + 1), near(t), near(1 - t), far(2 - t)], -1)


# ---- smoothed, for making images smaller ----


def _triangle(x: Any) -> Any:
    return np.maximum(1 - np.abs(x), 0)


def _cubic(x: Any) -> Any:
    x = np.abs(x)
    near = ((-0.5 + 2) * x - (-0.5 + 3)) * x * x + 1
    far = (((x - 5) * x + 8) * x - 4) * -0.5
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def _lanczos(x: Any) -> Any:
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


_FILTERS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "linear_aa": (_triangle, 2),
    "cubic_aa": (_cubic, 4),
    "lanczos_aa": (_lanczos, 6),
}


def _smoothed(
    kind: str, n: int, size: int, align: bool, scale: float | None, number: Any
) -> Taps:
    """Widen the filter by the factor the image shrinks by."""
    shape, width = _FILTERS[kind]
    step = _step(n, size, align, scale, number)
    support = number(width * 0.5) * max(step, number(1))
    centre = step * (np.arange(size, dtype=number) + number(0.5))
    low = np.maximum((centre - support + number(0.5)).astype(np.intp), 0)
    high = np.minimum((centre + support + number(0.5)).astype(np.intp), n)
    reach = math.ceil(support) * 2 + 1
    count = np.clip(high - low, 1, reach)
    offsets = np.arange(int(count.max()))
    places = low[:, None] + offsets
    inverse = number(1) / max(step, number(1))
    weights = shape((places - centre[:, None] + number(0.5)) * inverse)
    weights = np.where(offsets < count[:, None], weights, 0)
    weights = (weights / weights.sum(1, keepdims=True)).astype(number)
    return Taps(np.minimum(places, (low + count - 1)[:, None]), weights)
