"""Summaries of arrays: what the view says about a tensor's values and gradients.

It runs once per edge while recording, so it reads an array at most twice, in pieces
that stay in the cache, and reads a broadcast array as if it had not been expanded. Of a
large array the histogram is that of a sample, as its bins took most of the time; the
rest is of all elements.
"""

from __future__ import annotations

import math
import sys
from dataclasses import fields, replace
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from gradviz import ir
from gradviz._capture.statistics.scan import PIECE, sum_of_squares

BINS = 32

SAMPLE = 1 << 16
"""Elements of a larger array that its histogram is made of."""

# Below it the squares that make up a norm have lost digits to underflow.
_SMALLEST = 1e-145


_Values: TypeAlias = tuple[float | None, ...]  # minimum, maximum, mean, std, norm
_Bad: TypeAlias = tuple[int, int, tuple[int, ...] | None]  # NaNs, Infs, the first one


class _Sums(NamedTuple):
    """Sums over x and over t, which is x mapped to [0, 1]; NaN: not computed."""

    x: float
    x_squared: float
    t: float
    t_squared: float


class _Means(_Sums):
    """The same, divided by the number of elements."""


Summary: TypeAlias = tuple[Any, ...]
"""The fields of ir.Statistics. A bare tuple of numbers costs the collector nothing."""


def statistics(array: Any) -> ir.Statistics:
    """Summarize the values of a numpy or cupy array of any shape.

    Booleans count as 0 and 1; of complex numbers the magnitude is summarized. All is
    computed in float64 on the array's own device (means of large float32 arrays in
    float32), and NaN and Inf are counted but left out of everything else. Of a sparse
    array the elements that are kept are summarized, each place once. Raises TypeError
    for arrays that hold no numbers.

    >>> import numpy as np
    >>> summary = statistics(np.array([[3.0, 0.0], [np.nan, -4.0]]))
    >>> summary.minimum, summary.maximum, summary.norm, summary.zeros, summary.nans
    (-4.0, 3.0, 5.0, 1, 1)
    >>> summary.first_bad
    (1, 0)
    """
    return ir.Statistics(*summarize(array))


def summarize(array: Any) -> Summary:
    """Return the fields of :func:`statistics`."""
    if hasattr(array, "coalesce"):  # gradtape's, which is not imported for PyTorch
        return _of_sparse(array)
    count = int(array.size)
    if count == 0:
        return _fields(0)
    xp = namespace(array)
    # What lies beyond float32 on the way (an overflow of abs, say) ends as an Inf that
    # is counted, so numpy need not warn about it.
    with np.errstate(all="ignore"):
        values = as_real(xp, _without_repeats(array))
        repeats = count // int(values.size)
        flat = values.ravel(order="K")
        nonzero = xp.count_nonzero(flat != 0)
        low, high, nonzero = _host(xp, flat.min(), flat.max(), nonzero)
        zeros = (int(values.size) - int(nonzero)) * repeats
        if math.isfinite(low) and math.isfinite(high):
            return _summary(xp, flat, low, high, repeats, count, zeros)
        return _summary_of_finite(xp, values, flat, repeats, count, zeros)


def _fields(
    count: int,
    values: _Values = (None,) * 5,
    zeros: int = 0,
    bad: _Bad = (0, 0, None),
    histogram: tuple[int, ...] = (),
    ends: tuple[float, float] | tuple[None, None] = (None, None),
) -> Summary:
    return (count, *values, zeros, *bad, histogram, *ends)


def _of_sparse(array: Any) -> Summary:
    once = array.coalesce()
    found = statistics(once.values)
    if found.first_bad is not None:
        row, *inner = found.first_bad
        found = replace(found, first_bad=(*once.indices[:, row].tolist(), *inner))
    return tuple([getattr(found, each.name) for each in fields(found)])


def namespace(array: Any) -> Any:
    """Return the module that the array belongs to, without importing any."""
    name = type(array).__module__.partition(".")[0]
    return np if name == "numpy" else sys.modules[name]


def _host(xp: Any, *numbers: Any) -> list[float]:
    """Bring numbers to the host, in one transfer."""
    if xp is np:
        return [float(number) for number in numbers]
    packed = xp.stack([xp.asarray(number, dtype=xp.float64) for number in numbers])
    return packed.get().tolist()


def _without_repeats(array: Any) -> Any:
    """Return the array with every expanded (stride 0) dimension cut to length 1."""
    if 0 not in array.strides:
        return array
    return array[tuple(slice(1 if step == 0 else None) for step in array.strides)]


def as_real(xp: Any, array: Any) -> Any:
    """Return numbers that can be compared; raise TypeError where there are none."""
    kind, itemsize = array.dtype.kind, array.dtype.itemsize
    if kind == "c":
        return xp.abs(array.astype(xp.complex128))
    if kind in "iub" or (kind == "f" and itemsize in (4, 8)):
        return array
    if kind == "f":
        return array.astype(xp.float32 if itemsize == 2 else xp.float64)
    if kind == "V" and array.dtype.names is None:  # bfloat16 and float8 of ml_dtypes
        try:
            return array.astype(xp.float32)
        except (TypeError, ValueError):
            pass
    raise TypeError(f"An array of {array.dtype} holds no numbers to summarize.")


def _summary_of_finite(
    xp: Any, values: Any, flat: Any, repeats: int, count: int, zeros: int
) -> Summary:
    """Summarize an array that holds NaN or Inf."""
    fine = xp.isfinite(values)
    nans, place = _host(xp, xp.count_nonzero(flat != flat), (~fine).argmax())
    finite = flat[fine.ravel(order="K")]
    first = np.unravel_index(int(place), values.shape)
    infs = int(values.size) - int(finite.size) - int(nans)
    place = tuple([int(index) for index in first])
    bad = int(nans) * repeats, infs * repeats, place
    if finite.size == 0:
        return _fields(count, zeros=zeros, bad=bad)
    low, high = _host(xp, finite.min(), finite.max())
    return _summary(xp, finite, low, high, repeats, count, zeros, bad)


def _summary(
    xp: Any,
    flat: Any,
    low: float,
    high: float,
    repeats: int,
    count: int,
    zeros: int,
    bad: _Bad = (0, 0, None),
) -> Summary:
    """Summarize finite numbers between ``low`` and ``high``.

    The spread comes from t = (x - low) / (high - low), which lies in [0, 1]: nothing
    overflows, and as the variance of t is at least 1 / 2n, little cancels.
    """
    size = int(flat.size)
    if low == high:
        mean, std, norm = low, 0.0, abs(low) * math.sqrt(size * repeats)
        bins = [0] * BINS
        bins[BINS // 2] = size
        left, right = _around(low)
    else:
        means, bins = _means(xp, flat, low, high)
        mean_t = means.t
        std_t = math.sqrt(max(means.t_squared - mean_t * mean_t, 0.0))
        std = high * std_t - low * std_t
        mean, norm = means.x, math.sqrt(means.x_squared * size)
        if not math.isfinite(mean):
            mean = low * (1 - mean_t) + high * mean_t
        if not _SMALLEST < norm < math.inf:
            norm = math.hypot(mean, std) * math.sqrt(size)
        norm *= math.sqrt(repeats)
        left, right = low, high
    histogram = tuple([number * repeats for number in bins] if repeats > 1 else bins)
    values = low, high, mean, std, norm
    return _fields(count, values, zeros, bad, histogram, (left, right))


def _means(xp: Any, flat: Any, low: float, high: float) -> tuple[_Means, list[int]]:
    """Return the means over the array, and its histogram or that of a sample."""
    size, most = int(flat.size), max(-low, high)
    # The squares of float32 neither overflow nor vanish there.
    ordinary = xp is np and flat.dtype.kind == "f" and 1e-15 < most < 1e15
    if size <= SAMPLE or not ordinary:
        sums, bins = _sums(xp, flat, low, high)
        return _Means(*[each / size for each in sums]), bins
    sums, bins = _sums(xp, flat[_places(size)], low, high)
    t, t_squared = sums.t / SAMPLE, sums.t_squared / SAMPLE
    mean, square = float(flat.mean()), sum_of_squares(flat) / size
    variance, width = square - mean * mean, high - low
    if variance > square / 1_000:  # else too little is left of the digits
        t = (mean - low) / width
        t_squared = t * t + variance / (width * width)
    return _Means(mean, square, t, t_squared), bins


def _places(size: int) -> Any:
    """Return places spread evenly over so many, in step with no row of an array."""
    return (_fractions() * size).astype(np.intp)


@cache
def _fractions() -> Any:
    golden = (math.sqrt(5) - 1) / 2
    return np.arange(SAMPLE) * golden % 1


def _sums(xp: Any, flat: Any, low: float, high: float) -> tuple[_Sums, list[int]]:
    """Return the sums over the array and its histogram."""
    width = high - low
    scale = 1.0
    if not math.isfinite(width):  # both ends are near the largest float64
        scale = 0.5
    elif not math.isfinite(BINS / width):  # or next to each other, near the smallest
        scale = 2.0**200
    if scale != 1.0:
        scaled, bins = _sums(xp, flat * scale, low * scale, high * scale)
        return _Sums(math.nan, math.nan, scaled.t, scaled.t_squared), bins
    totals, bins = [0.0] * 4, np.zeros(BINS + 1, np.int64)
    # On a GPU one launch costs more than the memory it saves.
    step = PIECE if xp is np else int(flat.size)
    for start in range(0, int(flat.size), step):
        x = flat[start : start + step].astype(xp.float64)
        parts = [x.sum(), x.dot(x)]
        x -= low
        x *= BINS / width
        parts += [x.sum(), x.dot(x)]
        counts = xp.bincount(x.astype(xp.intp), minlength=BINS + 1)
        parts, counts = _to_host(xp, parts, counts)
        totals = [total + part for total, part in zip(totals, parts, strict=True)]
        bins += counts
    bins[BINS - 1] += bins[BINS]  # the last bin includes its right edge
    x_sum, x_squared, bin_sum, bin_squared = totals
    sums = _Sums(x_sum, x_squared, bin_sum / BINS, bin_squared / BINS**2)
    return sums, bins[:BINS].tolist()


def _to_host(xp: Any, parts: list[Any], counts: Any) -> tuple[list[float], Any]:
    if xp is not np:
        numbers = [xp.stack(parts), counts.astype(xp.float64)]
        host = xp.concatenate(numbers).get()
        parts, counts = list(host[:4]), host[4:].astype(np.int64)
    return [float(part) for part in parts], counts


def _around(value: float) -> tuple[float, float]:
    """Return the ends of a histogram that shows one value in its middle."""
    margin = abs(value) / 2 if value else 0.5
    left, right = value - margin, value + margin
    return max(left, -sys.float_info.max), min(right, sys.float_info.max)
