"""Derivatives that write over the gradient they are given: for spaces with ``owns``.

A large gradient of which nobody else knows need not be read from one buffer and written
to another: over a million elements ``grad * other`` takes 62 µs in place and 90 in
new memory, which is 4 MB more to keep in the cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._storage.ownership import fits
from .._kernels.cache_blocks import BLOCK, compiled_as, in_blocks


def times(grad: Any, factor: Any) -> Any:
    """Return ``grad * factor``, over the gradient if the result fits in there."""
    return np.multiply(grad, factor, grad if fits(grad, factor) else None)


def over(grad: Any, divisor: Any) -> Any:
    """Return ``grad / divisor``, over the gradient if the result fits in there."""
    return np.divide(grad, divisor, grad if fits(grad, divisor) else None)


def alike(grad: Any, *arrays: Any) -> bool:
    """Tell whether arrays lie in memory as the gradient does, and are as real."""
    return grad.dtype.char in "fd" and all(
        array.dtype is grad.dtype
        and array.shape == grad.shape
        and array.flags.c_contiguous
        for array in arrays
    )


def above_zero_only(grad: Any, result: Any) -> Any:
    """Put 0 where ``result`` is not above 0, nor NaN, over the gradient."""
    if grad.size > BLOCK:
        return in_blocks(np, _zero_unless_above, grad, result)
    _zero_unless_above(np, grad, result)
    return grad


@compiled_as("pointwise.zero_unless_above")
def _zero_unless_above(xp: Any, grad: Any, result: Any) -> None:
    bits = grad.view("int32" if grad.itemsize == 4 else "int64")
    kept = (result <= 0).view(np.int8)
    kept -= 1  # all ones, or none
    xp.bitwise_and(bits, kept, bits)
