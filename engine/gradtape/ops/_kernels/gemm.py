"""Two matrices multiplied as BLAS does it fastest, besides NumPy's plain way.

Both ways are for float32. NumPy calls BLAS with the operands as they come, and lets it
write over the result.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._common.compiled import compiled
from .denormals import is_faint

_FEW_ROWS = 64
_DEEP = 4
"""A product is so many times deeper than its rows, or turning it back would show."""
_MANY_TERMS = 10**6
"""Up to here OpenBLAS has kernels for small products, which do not mind."""


def is_thin(left: Any, right: Any) -> bool:
    """Tell whether few rows meet a matrix that was transposed, as in ``linear``.

    OpenBLAS computes them faster with the many rows first: its kernels for AVX-512 take
    205 µs for a product of 16 x 512 x 512, and 112 for its transpose. Those for other
    processors take the same time either way.
    """
    rows, inner = left.shape
    return (
        1 < rows <= _FEW_ROWS
        and _DEEP * rows <= inner
        and rows * inner * right.shape[1] > _MANY_TERMS
        and left.dtype.char == "f"
        and type(left) is type(right) is np.ndarray
        and bool(left.flags.c_contiguous and right.flags.f_contiguous)
    )


def turned(left: Any, right: Any) -> Any:
    """Return ``left @ right``, computed as the transpose of its transpose."""
    return np.dot(right.T, left.T).T.copy()


def added_to_rows(bias: Any, left: Any, right: Any) -> Any:
    """Return ``left @ right + bias``, or None where NumPy has to do it in two passes.

    BLAS adds a product to what it finds in the result, but NumPy does not offer that.
    SciPy does, with a library of its own: where BLAS may use several threads, those of
    one library would wait busily for the cores that the other one's are working on.
    """
    if (
        left.dtype.char != "f"
        or type(left) is not np.ndarray
        or left.size * right.shape[1] <= _MANY_TERMS
        or not (left.flags.forc and right.flags.forc)
        or is_faint(left, right)
    ):
        return None
    gemm = _gemm()
    if gemm is None:
        return None
    found = np.empty((left.shape[0], right.shape[1]), left.dtype)
    found[...] = bias
    (a, turn_a), (b, turn_b) = _by_columns(right), _by_columns(left)
    gemm(1, a, b, 1, found.T, turn_a, turn_b, 1)  # Fortran's order: all is transposed
    return found


def _by_columns(matrix: Any) -> tuple[Any, bool]:
    """Return the transpose as Fortran reads it, and whether that has to be turned."""
    if matrix.flags.c_contiguous:
        return matrix.T, False
    return matrix, True


@functools.cache
def _gemm() -> Callable[..., Any] | None:
    named = os.environ.get("OPENBLAS_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS")
    if named != "1":
        return None
    from scipy.linalg import blas  # 0.1 s, so not before the first large product

    return blas.sgemm  # type: ignore[no-any-return]


is_thin = compiled(is_thin)
