"""Pooling on arrays (N, C, *spatial): running maxima, divisors, scatter and gather."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np

from ..._backend.compiled import kernel_for
from .sliding_windows import Sizes, Window, padded, volume


def trailing(window: Window, spatial: Sizes, outputs: Sizes) -> Sizes:
    """Return how much border the last windows need behind each dimension."""
    each = zip(
        spatial, outputs, window.stride, window.padding, window.reach, strict=True
    )
    return tuple(max(p, (n - 1) * s + r - size - p) for size, n, s, p, r in each)


_FOUR = Window((2, 2), (2, 2), (0, 0), (1, 1))


def _lowest(xp: Any, dtype: Any) -> Any:
    return -xp.inf if dtype.kind in "fV" else xp.iinfo(dtype).min


def largest(xp: Any, array: Any, window: Window, ceil_mode: bool) -> tuple[Any, Any]:
    """Return each window's largest value and its flat index in the plane.

    NaN counts as larger than anything. Of equal values the first is taken.
    """
    spatial = array.shape[2:]
    outputs = window.outputs(spatial, ceil_mode)
    whole = all(2 * n <= size for n, size in zip(outputs, spatial, strict=False))
    if window == _FOUR and whole:
        run = kernel_for("pooling.largest_of_four", array)
        if run is not None:
            return _in_planes(xp, run, array, outputs)
    after = trailing(window, spatial, outputs)
    wide = padded(xp, array, window.padding, after, _lowest(xp, array.dtype))
    taps = window.taps(outputs)
    small = xp.uint8 if len(taps) < 256 else xp.int32
    best = chosen = None
    for number, (_, seen) in enumerate(taps):
        # Three passes over values in one piece, and the copy, are faster than two over
        # values that are apart.
        values = wide[(slice(None), slice(None), *seen)].copy()
        if best is None:
            best = values
            chosen = xp.zeros(best.shape, small)
            continue
        # Taps are numbered upwards, so the largest number is the last that won.
        won = xp.greater(values, best).view(xp.uint8)
        xp.maximum(chosen, won * small(number), out=chosen)
        xp.maximum(best, values, out=best)
    assert chosen is not None  # a window has at least one cell
    if array.dtype.kind in "fV" and xp.isnan(best).any():
        for number, (_, seen) in enumerate(taps):
            values = wide[(slice(None), slice(None), *seen)]
            chosen[xp.isnan(values)] = number
    return best, _indices(xp, chosen, window, spatial, outputs)


def _in_planes(xp: Any, run: Any, array: Any, outputs: Sizes) -> tuple[Any, Any]:
    """Run a compiled kernel over all planes; return values and indices."""
    shape = (*array.shape[:2], *outputs)
    found, indices = xp.empty(shape, array.dtype), xp.empty(shape, xp.int64)
    run(*(a.reshape(-1, *a.shape[2:]) for a in (found, indices, array)))
    return found, indices


def _indices(
    xp: Any, chosen: Any, window: Window, spatial: Sizes, outputs: Sizes
) -> Any:
    """Turn tap numbers into flat indices of the plane without its border."""
    origin, offsets = _places(window, spatial, outputs)
    found = xp.take(xp.asarray(offsets), chosen)
    return xp.add(found, xp.asarray(origin), found)


@functools.lru_cache(256)
def _places(window: Window, spatial: Sizes, outputs: Sizes) -> tuple[Any, Any]:
    """Return the flat index where each window begins, and from there to each tap."""
    steps = [volume(spatial[i + 1 :]) for i in range(len(spatial))]
    origin = np.zeros((1,) * len(spatial), np.int64)
    for dim, step in enumerate(steps):
        begins = np.arange(outputs[dim]) * window.stride[dim] - window.padding[dim]
        shape = [1] * len(spatial)
        shape[dim] = -1
        origin = origin + (begins * step).reshape(shape)
    offsets = [
        sum(p * d * s for p, d, s in zip(place, window.dilation, steps, strict=True))
        for place in itertools.product(*(range(k) for k in window.kernel))
    ]
    return origin, np.asarray(offsets, np.int64)


def _linear(xp: Any, indices: Any, plane: int, dims: int) -> Any:
    """Return indices into the whole array from indices into each plane."""
    planes = volume(indices.shape[: indices.ndim - dims])
    begins = xp.arange(planes, dtype=xp.int64)[:, None] * plane
    each = indices.size // max(planes, 1)
    return (indices.reshape(planes, each) + begins).reshape(-1)


def scatter(
    xp: Any, values: Any, indices: Any, shape: Sizes, dims: int, overlap: bool
) -> Any:
    """Add values to empty planes at flat indices; ``overlap``: some meet in a cell."""
    linear = _linear(xp, indices, volume(shape[-dims:]), dims)
    total = volume(shape)
    flat = xp.ascontiguousarray(values).reshape(-1)
    if overlap:
        found = xp.bincount(linear, flat, minlength=total).astype(values.dtype)
    else:
        found = xp.zeros(total, values.dtype)
        found[linear] = flat
    return found.reshape(shape)


def scatter_largest(
    xp: Any, values: Any, indices: Any, shape: Sizes, dims: int, overlap: bool
) -> Any:
    """Do what :func:`scatter` does for the places that a pooling has found."""
    found = xp.empty(shape, values.dtype)
    run = kernel_for("pooling.scatter", found, values)
    if run is None or not indices.flags.carray:
        return scatter(xp, values, indices, shape, dims, overlap)
    planes = volume(shape[:-dims])
    run(*(a.reshape(planes, -1) for a in (found, values, indices)))
    return found


def gather(xp: Any, planes: Any, indices: Any, dims: int) -> Any:
    """Read planes at flat indices."""
    linear = _linear(xp, indices, volume(planes.shape[-dims:]), dims)
    return xp.ascontiguousarray(planes).reshape(-1)[linear].reshape(indices.shape)


def divisors(
    xp: Any,
    window: Window,
    spatial: Sizes,
    outputs: Sizes,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Any:
    """Return by what each window's sum is divided: one number, or one per window."""
    if divisor_override is not None:
        return divisor_override
    counts: list[Any] = []
    for size, count, step, pad, kernel in zip(
        spatial, outputs, window.stride, window.padding, window.kernel, strict=True
    ):
        begin = xp.arange(count) * step - pad
        end = xp.minimum(begin + kernel, size + pad)
        if not count_include_pad:
            begin, end = xp.maximum(begin, 0), xp.minimum(end, size)
        counts.append(end - begin)
    if all(int(c.min()) == int(c.max()) for c in counts if c.size):
        return volume([int(c[0]) if c.size else 1 for c in counts])
    found = counts[0]
    for each in counts[1:]:
        found = found[..., None] * each
    return found


# ---- adaptive: cells that cover the plane whatever its size ----


def _bounds(size: int, count: int) -> list[tuple[int, int]]:
    return [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def cell_means(xp: Any, array: Any, outputs: Sizes) -> Any:
    """Return the mean of each cell, one dimension after the other.

    No cell sees another's elements: a NaN stays where it is.
    """
    for number, count in enumerate(outputs):
        axis = array.ndim - len(outputs) + number
        turned = xp.moveaxis(array, axis, -1)
        cells = _bounds(turned.shape[-1], count)
        means = [turned[..., begin:end].mean(-1) for begin, end in cells]
        none = xp.empty((*turned.shape[:-1], 0), array.dtype)
        array = xp.stack(means, axis) if count else xp.moveaxis(none, -1, axis)
    return xp.ascontiguousarray(array)


def share_cells(xp: Any, grad: Any, spatial: Sizes) -> Any:
    """Share each cell's gradient among its elements; the adjoint of cell_means."""
    for number, size in enumerate(spatial):
        axis = grad.ndim - len(spatial) + number
        turned = xp.moveaxis(grad, axis, -1)
        into = xp.zeros((*turned.shape[:-1], size), grad.dtype)
        for place, (begin, end) in enumerate(_bounds(size, turned.shape[-1])):
            part = turned[..., place] / grad.dtype.type(end - begin)
            into[..., begin:end] += part[..., None]
        grad = xp.moveaxis(into, -1, axis)
    return xp.ascontiguousarray(grad)


def check_cells(name: str, shape: Sizes) -> None:
    """Refuse the gradient of no cells, as PyTorch's backward kernels do."""
    for dim, size in enumerate(shape[1:], 1):
        if not size:
            raise RuntimeError(
                f"{name}_backward(): Expected grad_output to have non-zero size for "
                f"non-batch dimensions, but grad_output has sizes {list(shape)} with "
                f"dimension {dim} being empty"
            )


def adaptive_cells(xp: Any, array: Any, outputs: Sizes) -> tuple[Any, Any]:
    """Return each cell's largest value and its flat index in the plane."""
    dims = len(outputs)
    spatial, lead = array.shape[-dims:], array.shape[:-dims]
    numbers = xp.arange(volume(spatial)).reshape(spatial)
    found = xp.empty((*lead, *outputs), array.dtype)
    indices = xp.empty((*lead, *outputs), xp.int64)
    bounds = [_bounds(s, n) for s, n in zip(spatial, outputs, strict=True)]
    for cell in itertools.product(*(range(n) for n in outputs)):
        seen = tuple(slice(*bounds[dim][i]) for dim, i in enumerate(cell))
        part = array[(..., *seen)]
        part = part.reshape(*lead, volume(part.shape[-dims:]))
        at = part.argmax(-1)
        found[(..., *cell)] = xp.take_along_axis(part, at[..., None], -1)[..., 0]
        indices[(..., *cell)] = numbers[seen].reshape(-1)[at]
    return found, indices
