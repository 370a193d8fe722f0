"""Thumbnails of arrays: matrices, filters and images as a few hundred pixels.

A sample is taken where the statistics of an array are, once per array that is looked at
in full: at most nine elements a pixel, copied. What is drawn of it is worked out when a
snapshot asks, and most never are.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from gradviz import ir
from gradviz._capture.statistics.summary import as_real, namespace

WHOLE = 784
"""Elements that are drawn one by one: a digit of 28 by 28."""

SIDE = 22
"""Pixels along the square that a larger matrix becomes: 300 bytes, deflated."""

_FEW, _SMALL = 4, 14  # images or maps that are larger: how many, and pixels along each
_MOST_TILES = 49
_LONGEST = 3 * SIDE  # pixels along the longer side of what is narrow
_FILTER = 7  # elements along the side of the largest filter
_MOST_BYTES = 32_000_000  # of all samples that wait to be drawn
_MOST_SHAPES = 1_000

Thumbnail = tuple[Any, ...]
"""The fields of ir.Thumbnail, but for the statistics."""


class _Plan(NamedTuple):
    """How arrays of one shape are drawn."""

    kind: ir.ThumbnailKind
    places: tuple[Any, ...]  # give tiles by channels by rows by columns
    tiles: int
    size: tuple[int, int]  # of the elements that are drawn as rows and columns
    block: tuple[int, int]  # elements that are one pixel
    step: tuple[int, int]  # one of so many of them is read
    how: str


@dataclass(slots=True)
class Sample:
    """Some elements of an array, to draw a thumbnail from."""

    plan: _Plan
    values: Any
    bad: tuple[int, int, int, float] | None = None  # pixel of the first NaN or Inf
    nbytes: int = 0  # of the values, when they were taken
    passes: int = 0  # that were over
    drawn: Thumbnail | None = None

    def draw(self) -> Thumbnail | None:
        """Return the thumbnail; None of a sample that was let go."""
        if self.values is not None:
            on_host = isinstance(self.values, np.ndarray)
            values = self.values if on_host else self.values.get()
            with np.errstate(all="ignore"):
                self.drawn = _drawn(self.plan, values.astype(np.float64), self.bad)
            self.values = None
        return self.drawn


class Samples:
    """Samples that wait; of too many the oldest are drawn, or let go."""

    def __init__(self) -> None:
        self.on = False
        self.steps = 0  # that a snapshot shows
        self.passes = 0  # that were over
        self._waiting: deque[Sample] = deque()
        self._bytes = 0

    def of(self, array: Any, first_bad: tuple[int, ...] | None) -> Sample | None:
        """Return a sample of an array, where samples are wanted."""
        found = sample(array, first_bad) if self.on else None
        if found is not None:
            found.passes, found.nbytes = self.passes, found.values.nbytes
            self._waiting.append(found)
            self._bytes += found.nbytes
            while self._bytes > _MOST_BYTES:
                self._settle(self._waiting.popleft())
        return found

    def _settle(self, oldest: Sample) -> None:
        self._bytes -= oldest.nbytes
        if oldest.passes >= self.passes - self.steps:
            oldest.draw()
        oldest.values = None


def sample(array: Any, first_bad: tuple[int, ...] | None = None) -> Sample | None:
    """Take a sample of a NumPy or CuPy array; None where a histogram says more.

    That is so for fewer than two dimensions, and for matrices of one row or column.
    ``first_bad`` is the place of a NaN or Inf, which is not to be missed. Of complex
    numbers the magnitude is drawn. Raises TypeError for arrays that hold no numbers.

    >>> import numpy as np
    >>> found = sample(np.array([[0.0, 1.0], [2.0, np.nan]])).draw()
    >>> kind, rows, columns, pixels, tiles, low, high, how = found
    >>> pixels, low, high
    ((0, 15, 30, 32), 0.0, 2.0)
    """
    if hasattr(array, "coalesce") or array.ndim < 2:  # sparse, or a vector
        return None
    plan = _plan(array.shape)
    if plan is None:
        return None
    values = as_real(namespace(array), array[plan.places])
    if values.base is not None or values is array:
        values = values.copy()
    place = None if first_bad is None else _pixel(plan, array, first_bad)
    return Sample(plan, values, place)


@lru_cache(_MOST_SHAPES)
def _plan(shape: tuple[int, ...]) -> _Plan | None:
    if 0 in shape or min(shape[-2:]) < 2:
        return None
    outer = (0,) * (len(shape) - 4)
    *_, height, width = shape
    total = _tile_count(shape)
    tiles, most_rows, most_columns = _room(total, height, width, len(shape))
    block = _block(height, most_rows), _block(width, most_columns)
    step = _step(block[0]), _step(block[1])
    kind, index, words = _tiles(shape, tiles, total)
    how = "; ".join(filter(None, (words, _pooling(block, step))))
    ends = slice(None, None, step[0]), slice(None, None, step[1])
    whole = (*outer, *index, *ends)
    return _Plan(kind, whole, tiles, (height, width), block, step, how)


def _is_filter(height: int, width: int) -> bool:
    return height == width <= _FILTER and height % 2 == 1


def _tile_count(shape: tuple[int, ...]) -> int:
    if len(shape) < 4:
        return shape[0] if len(shape) == 3 else 1
    count, channels, *size = shape[-4:]
    return count if _is_filter(*size) or channels in (1, 3) else channels


def _tiles(
    shape: tuple[int, ...], tiles: int, total: int
) -> tuple[ir.ThumbnailKind, tuple[Any, ...], str]:
    """Choose the matrices that show an array best, and say which they are."""
    some = slice(tiles)
    if len(shape) == 2:
        return "matrix", (None, None), ""
    if len(shape) == 3:
        return "matrices", (some, None), f"{tiles} of {total} matrices"
    count, channels, *size = shape[-4:]
    others = ", the first of all others" if len(shape) > 4 else ""
    if _is_filter(*size):
        words = f"{tiles} of {total} filters, channel 0 of {channels}"
        return "filters", (some, slice(1)), words + others
    if channels in (1, 3):
        words = f"{tiles} of {total} images" + ", mean of 3 channels" * (channels == 3)
        return "images", (some, slice(None)), words + others
    words = f"{tiles} of {total} maps" + f" of the first of {count}" * (count > 1)
    return "maps", (0, some, None), words + others


def _room(total: int, height: int, width: int, dims: int) -> tuple[int, int, int]:
    """Return how many tiles to show, and the most rows and columns of each."""
    fit = WHOLE // (height * width)
    if total > 1 and dims > 3 and fit < 2:
        return min(total, _FEW), _SMALL, _SMALL
    if fit and max(height, width) <= _LONGEST:
        return min(total, fit, _MOST_TILES), height, width
    rows, columns = min(height, SIDE), min(width, SIDE)
    room = SIDE * SIDE
    return 1, min(room // columns, _LONGEST), min(room // rows, _LONGEST)


def _block(size: int, most: int) -> int:
    """Return how many elements along an axis are one pixel."""
    block = -(-size // most)
    return block if block < 4 else block + block % 2


def _step(block: int) -> int:
    """Return which of them are read: each, or two of a larger block."""
    return 1 if block < 4 else block // 2


def _pooling(block: tuple[int, int], step: tuple[int, int]) -> str:
    """Say what a pixel is."""
    down, across = block
    if down == across == 1:
        return "a pixel is an element"
    if step == (1, 1):
        return f"a pixel is the mean of {down} × {across} elements"
    read = down // step[0] * (across // step[1])
    return f"a pixel is the mean of {read} of {down} × {across} elements"


def _pixel(
    plan: _Plan, array: Any, place: tuple[int, ...]
) -> tuple[int, int, int, float] | None:
    """Return where a NaN or Inf is drawn, and which it is; None where it is not."""
    tile, at = 0, 0
    for each in plan.places[:-2]:
        if each is None:
            continue
        if each == slice(plan.tiles):
            tile = place[at]
        elif isinstance(each, slice) and each.stop is None:
            pass  # one of the channels of an image
        elif place[at] != 0:
            return None
        at += 1
    if tile >= plan.tiles:
        return None
    row, column = place[-2] // plan.block[0], place[-1] // plan.block[1]
    value = abs(complex(array[place]))
    return tile, row, column, value


def _drawn(
    plan: _Plan, values: Any, bad: tuple[int, int, int, float] | None
) -> Thumbnail:
    means = _means(values, plan.block[0] // plan.step[0], plan.block[1] // plan.step[1])
    if bad is not None:
        means[bad[:3]] = bad[3]
    tiles, rows, columns = means.shape
    low, high, pixels = _pixels(means)
    return plan.kind, rows, columns, pixels, tiles, low, high, plan.how


def _means(values: Any, down: int, across: int) -> Any:
    """Return the means of blocks, smaller ones at an end, and of channels."""
    values = values.mean(1)
    for axis, block in ((1, down), (2, across)):
        if block > 1:
            starts, sizes = _starts(values.shape[axis], block)
            shape = (1, -1, 1) if axis == 1 else (1, 1, -1)
            values = np.add.reduceat(values, starts, axis) / sizes.reshape(shape)
    return values


@cache
def _starts(size: int, block: int) -> tuple[Any, Any]:
    starts = np.arange(0, size, block)
    return starts, np.diff(starts, append=size)


def _pixels(means: Any) -> tuple[float | None, float | None, tuple[int, ...]]:
    """Return the ends of the scale and the pixels; 0 is in the middle between signs."""
    codes = np.zeros(means.shape, np.uint8)
    finite = np.isfinite(means)
    codes[np.isinf(means)] = ir.INF_PIXEL
    codes[np.isnan(means)] = ir.NAN_PIXEL
    shown = means[finite]
    if not shown.size:
        return None, None, tuple(codes.ravel().tolist())
    low, high = _ends(float(shown.min()), float(shown.max()))
    width = high / 2 - low / 2  # all of float64 may lie between them
    if width:
        shares = (shown / 2 - low / 2) / width
        codes[finite] = np.rint(shares * ir.LEVELS).clip(0, ir.LEVELS)
    return low, high, tuple(codes.ravel().tolist())


def _ends(low: float, high: float) -> tuple[float, float]:
    if low < 0 < high:
        most = max(-low, high)
        return -most, most
    return low, high
