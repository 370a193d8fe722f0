"""Columns that a convolution's forward lays out, kept for its backward.

Both need the same ones, and laying them out is a quarter of a small convolution: 0.17
of 2.9 ms of a LeNet step. They are found again by the values they were made of,
compared bit by bit, so a result is the same whether they are found or not.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np

from .sliding_windows import Sizes, Window, columns

ROOM = 1 << 24
"""Bytes that a thread keeps at most; the oldest columns go first."""


class _Entry(NamedTuple):
    values: Any  # a copy of the input, as integers
    columns: Any


class _Kept(threading.local):
    """What one thread keeps, oldest first, by address and sizes of the input."""

    def __init__(self) -> None:
        self.known: dict[Any, _Entry] = {}
        self.nbytes = 0

    def drop(self, key: Any) -> _Entry | None:
        entry = self.known.pop(key, None)
        if entry is not None:
            self.nbytes -= entry.columns.nbytes
        return entry


_kept = _Kept()


def make(xp: Any, array: Any, window: Window, outputs: Sizes) -> Any:
    """Lay out columns as :func:`columns` does, and keep them for :func:`take`."""
    bits = _bits_of(xp, array)
    if bits is None:
        return columns(xp, array, window, outputs)
    found = columns(xp, array, window, outputs, borrow="")
    key = _key(array, window)
    _kept.drop(key)
    if found.nbytes <= ROOM:
        _kept.known[key] = _Entry(bits.copy(), found)
        _kept.nbytes += found.nbytes
    while _kept.nbytes > ROOM:
        _kept.drop(next(iter(_kept.known)))
    return found


def take(xp: Any, array: Any, window: Window, outputs: Sizes) -> Any:
    """Return the columns of this input, kept ones if its values are still the same."""
    entry = _kept.drop(_key(array, window)) if xp is np else None
    if entry is not None and np.array_equal(entry.values, _bits_of(xp, array)):
        return entry.columns
    return columns(xp, array, window, outputs)


def _key(array: Any, window: Window) -> Any:
    return array.ctypes.data, array.shape, array.dtype, window


def _bits_of(xp: Any, array: Any) -> Any:
    """Return the elements as integers, for which NaN equals NaN and 0 not -0."""
    if xp is not np or array.itemsize not in (4, 8) or not array.flags.c_contiguous:
        return None
    return array.view(f"i{array.itemsize}")
