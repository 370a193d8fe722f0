"""Where random numbers go: arrays filled in memory order, and the checks before."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import _dtypes as dt

Array: TypeAlias = NDArray[Any]

WIDE_UNSIGNED: Final = (dt.uint16, dt.uint32, dt.uint64)

# ---- memory order ----


def memory_order(out: Array) -> list[int]:
    """Return the axes from the outermost in memory to the innermost."""
    inner_first = list(range(out.ndim))[::-1]
    for i in range(1, out.ndim):
        moving = i
        for j in range(i - 1, -1, -1):
            a, b = inner_first[j], inner_first[moving]
            stride_a, stride_b = out.strides[a], out.strides[b]
            if stride_a == 0 or stride_b == 0:
                continue
            if stride_a < stride_b:
                break
            if stride_a > stride_b or out.shape[a] > out.shape[b]:
                inner_first[j], inner_first[moving] = b, a
                moving = j
    return inner_first[::-1]


def store(out: Array, values: Array) -> Array:
    """Write values, given in memory order, into `out`; convert as C does."""
    with np.errstate(invalid="ignore", over="ignore"):
        if out.flags.c_contiguous:
            np.copyto(out.reshape(-1), values, casting="unsafe")
        else:
            target = out.transpose(memory_order(out))
            np.copyto(target, values.reshape(target.shape), casting="unsafe")
    return out


def through_float32(out: Array, values: NDArray[np.float64]) -> Array:
    """Write doubles; the two halves get them by way of float32, as in C++."""
    if out.dtype.itemsize == 2:
        return store(out, values.astype(np.float32))
    return store(out, values)


def as_real(out: Array) -> Array:
    """View a complex array as real parts and imaginary parts, on one more axis."""
    real: Array = np.real(out)
    return np.lib.stride_tricks.as_strided(
        real, (*out.shape, 2), (*out.strides, real.dtype.itemsize)
    )


# ---- checks ----


def dtype_of(out: Array) -> dt.dtype:
    return dt.DTYPE_OF[out.dtype]


def require(kernel: str, supported: bool, dtype: dt.dtype) -> None:
    if not supported:
        raise NotImplementedError(
            f"\"{kernel}\" not implemented for '{dtype.cpp_name}'"
        )


def require_float(kernel: str, out: Array) -> dt.dtype:
    dtype = dtype_of(out)
    require(kernel, dtype.is_floating_point, dtype)
    return dtype
