"""Adding a multiple of one array to another in place, in one pass over the memory."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from .._backend.compiled import kernel_for

# SciPy brings an OpenBLAS of its own beside NumPy's. For longer arrays it takes
# threads, which wait busily and take the cores from NumPy's: a step of LeNet took four
# times as long on two cores.
_PIECE = 10_000


def add_scaled(target: Any, array: Any, factor: float) -> None:
    """Compute ``target += factor * array`` for raw arrays of one shape.

    NumPy needs a temporary and two passes; BLAS has ``axpy``, which takes half the time
    on large arrays and a quarter on small ones, and numba, where it is installed, does
    the large ones at once. Other layouts and dtypes go to NumPy.
    """
    axpy = _axpy().get(target.dtype.char)
    if (
        axpy is not None
        and type(target) is type(array) is np.ndarray
        and target.dtype is array.dtype
        and target.flags.c_contiguous
        and array.flags.c_contiguous
        and target.size
    ):
        source, sums = array.reshape(-1), target.reshape(-1)
        run = kernel_for("pointwise.add_scaled", sums, source)
        if run is not None:
            run(sums, source, factor)
            return
        for start in range(0, sums.size, _PIECE):
            stop = start + _PIECE
            axpy(source[start:stop], sums[start:stop], a=factor)
    else:
        target += factor * array


@cache
def _axpy() -> dict[str, Any]:
    from scipy.linalg import blas  # 0.1 s, so not before the first step

    return {name: getattr(blas, f"{prefix}axpy") for name, prefix in ("fs", "dd")}
