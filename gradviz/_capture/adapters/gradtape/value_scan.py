"""Looks at values: extremes, NaN and Inf of an array, and the text of a small one."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape._debug import META, SparseArray, backend_of
from gradviz._capture.statistics.scan import summary_of
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
        if not self.on or array is None or type(array) is META.array_type:
            return None
        if type(array) is SparseArray:
            array = array.values
        if type(array) is not np.ndarray:
            array = backend_of(array).to_host(array)
        with np.errstate(all="ignore"):
            return summary_of(array)

    def text(self, array: Any) -> str:
        """Return up to eight elements as text; "" where there are more."""
        if not self.on or type(array) is not np.ndarray or array.size > _SHOWN:
            return ""
        if array.dtype.kind in "fc":
            return str(np.array2string(array, separator=", ", precision=6)).replace(
                "\n", ""
            )
        return str(array.tolist())
