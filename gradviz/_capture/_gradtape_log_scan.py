"""Looks at values: extremes, NaN and Inf of an array, and the text of a small one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradtape._backend import backend_of
from gradtape._sparse import SparseArray
from gradviz.program.values import Summary

_SHOWN = 8  # elements of a small array that are written out


class Scan:
    """Summarizes arrays, or does nothing where nobody asked for values."""

    def __init__(self, on: bool) -> None:
        self.on = on

    def look(self, array: Any) -> tuple[Summary | None, str]:
        """Return the summary of an array, and its text where it is small."""
        return self.summary(array), self.text(array)

    def summary(self, array: Any) -> Summary | None:
        """Return the summary of an array; None where it holds no numbers."""
        if not self.on or array is None:
            return None
        if type(array) is SparseArray:
            array = array.values
        if type(array) is not np.ndarray:
            array = backend_of(array).to_host(array)
        with np.errstate(all="ignore"):
            return _summary(array)

    def text(self, array: Any) -> str:
        """Return up to eight elements as text; "" where there are more."""
        if not self.on or type(array) is not np.ndarray or array.size > _SHOWN:
            return ""
        if array.dtype.kind in "fc":
            return str(np.array2string(array, separator=", ", precision=6)).replace(
                "\n", ""
            )
        return str(array.tolist())


def _summary(array: Any) -> Summary | None:
    kind = array.dtype.kind
    count = int(array.size)
    if count == 0:
        return Summary(0)
    if kind == "V":
        array = array.astype(np.float32)
    elif kind == "c":
        array = np.abs(array)
    elif kind == "f" and array.itemsize == 2:
        array = array.astype(np.float32)
    elif kind not in "fiub":
        return None
    flat = array.ravel(order="K")
    low, high = float(flat.min()), float(flat.max())
    zeros = count - int(np.count_nonzero(flat))
    if math.isfinite(low) and math.isfinite(high):
        return Summary(
            count, zeros=zeros, minimum=low, maximum=high, norm=_norm(flat, low, high)
        )
    fine = np.isfinite(array)
    nans = int(np.count_nonzero(np.isnan(flat)))
    finite = array[fine]
    found = Summary(
        count,
        nans=nans,
        infs=count - int(finite.size) - nans,
        zeros=zeros,
        first_bad=tuple(
            int(i) for i in np.unravel_index(int((~fine).argmax()), array.shape)
        ),
    )
    if finite.size:
        found.minimum, found.maximum = float(finite.min()), float(finite.max())
        found.norm = _norm(finite, found.minimum, found.maximum)
    return found


def _norm(flat: Any, low: float, high: float) -> float:
    """Return the L2 norm of finite numbers, scaled where squares would overflow."""
    most = max(-low, high)
    if flat.dtype.kind == "f" and 1e-15 < most < 1e15:
        return math.sqrt(float(flat.dot(flat)))
    if most <= 0:
        return 0.0
    scaled = flat.astype(np.float64) / most
    return most * math.sqrt(float(scaled.dot(scaled)))
