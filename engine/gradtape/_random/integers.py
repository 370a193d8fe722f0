"""Fill NumPy arrays with random integers, bit for bit as PyTorch's CPU kernels do."""

from __future__ import annotations

import warnings
from typing import Final

import numpy as np

from .. import _dtypes as dt
from .._common.site import user_stacklevel
from .generator import Generator, default_generator
from .target import WIDE_UNSIGNED, Array, dtype_of, require, store
from .vmap import at_once

# The bits of each float's mantissa: integers up to 2**digits are exact.
_DIGITS: Final = {dt.float16: 11, dt.bfloat16: 8, dt.float32: 24, dt.float64: 53}
_MASK64: Final = 2**64 - 1
_INT64: Final = dt.iinfo(dt.int64)


@at_once
def random_(
    out: Array,
    from_: int = 0,
    to: int | None = None,
    generator: Generator | None = None,
    *,
    whole_range: bool = False,
) -> Array:
    """Fill with uniform integers in [from_, to).

    Without `to` the range ends at the largest integer the type holds exactly;
    `whole_range` is `random_()` without bounds, which draws otherwise. Raises
    RuntimeError where the bounds are out of order or out of the type's range.
    """
    dtype = dtype_of(out)
    source = generator or default_generator
    if whole_range:
        return _random_of_type(out, dtype, source)
    if dtype.is_complex:
        raise RuntimeError(
            "check_random_bounds handles only integral, floating-point and boolean "
            "types"
        )
    if to is None and from_ == _INT64.min:
        return _random_full_range(out, dtype, source)
    from_, last = _random_bounds(dtype, from_, to)
    _check_random_range(dtype, from_, last)
    if not out.size:
        return out
    return _store_integers(out, *_draw_below(source, out.size, last - from_ + 1), from_)


def _draw_below(source: Generator, count: int, span: int) -> tuple[Array, int]:
    # PyTorch takes 64 bits from 2**28 on, to keep the skew of the remainder small.
    if span >= 2**28:
        draws: Array = source.draw64(count)
        if span <= _MASK64:
            draws %= np.uint64(span)
        return draws, span
    narrow = source.draw32(count)
    narrow %= np.uint32(span)
    return narrow, span


def _store_integers(out: Array, draws: Array, span: int, base: int) -> Array:
    wide = draws.astype(np.uint64)
    wide += np.uint64(base & _MASK64)
    integers = wide.view(np.int64)
    if out.dtype.itemsize == 2 and out.dtype.kind not in "iu":
        return store(out, integers.astype(np.float32))
    return store(out, integers)


def _random_of_type(out: Array, dtype: dt.dtype, source: Generator) -> Array:
    """Fill with integers from 0 to the largest one the type holds exactly."""
    supported = not dtype.is_complex and dtype not in WIDE_UNSIGNED
    if not out.size:
        return out
    require("random_kernel_cpu", supported, dtype)
    if dtype.is_floating_point:
        span = 2 ** _DIGITS[dtype] + 1
    else:
        span = 2 if dtype is dt.bool_ else dt.iinfo(dtype).max + 1
    if dtype in (dt.float64, dt.int64):
        return store(out, source.draw64(out.size) % np.uint64(span))
    values = source.draw32(out.size) % np.uint32(span)
    return store(out, values.astype(np.float32) if dtype.itemsize == 2 else values)


def _random_full_range(out: Array, dtype: dt.dtype, source: Generator) -> Array:
    if not out.size:
        return out
    kernel = "random_full_64_bits_range_kernel_cpu"
    require(kernel, dtype not in (dt.float16, dt.bool_, *WIDE_UNSIGNED), dtype)
    if not dtype.is_floating_point and dtype is not dt.int64:
        raise RuntimeError(f"{kernel} handles only int64, double, float and bfloat16")
    integers = source.draw64(out.size).view(np.int64)
    return store(out, integers.astype(np.float32) if dtype.itemsize == 2 else integers)


def _random_bounds(dtype: dt.dtype, from_: int, to: int | None) -> tuple[int, int]:
    """Return the first and last integer; move them inwards to what a float holds."""
    if to is not None:
        if from_ >= to:
            raise RuntimeError(
                "random_ expects 'from' to be less than 'to', "
                f"but got from={from_} >= to={to}"
            )
        if not dtype.is_floating_point:
            return from_, to - 1
        from_, to = _round_up(dtype, from_), _round_down(dtype, to)
        if from_ >= to:
            raise RuntimeError(
                "random_ expects 'from' casted to dtype to be less than 'to' casted "
                f"to dtype, but got from={from_} >= to={to}"
            )
        return from_, to - 1
    if dtype.is_floating_point:
        last = 2 ** _DIGITS[dtype]
        from_ = _round_up(dtype, from_)
        if from_ >= last:
            raise RuntimeError(
                "random_ expects 'from' casted to dtype to be less than or equal to "
                f"'to_inc' casted to dtype, but got from={from_} > to_inc={last}"
            )
        return from_, last
    if dtype is dt.uint64:
        return from_, -1  # PyTorch's bounds are signed, so its largest one wraps
    return from_, 1 if dtype is dt.bool_ else dt.iinfo(dtype).max


def _cast(dtype: dt.dtype, value: int) -> int:
    """Return an integer after a trip through a float type and back."""
    found = float(value)
    if dtype is not dt.float64:
        with np.errstate(over="ignore"):
            found = float(np.float32(value).astype(dtype.numpy))
    return int(found) if abs(found) < 2.0**63 else _INT64.min


def _round_up(dtype: dt.dtype, from_: int) -> int:
    above = _cast(dtype, from_ + 1)
    if above >= from_:
        return from_
    return above + 2 ** (abs(from_ + 1).bit_length() - _DIGITS[dtype])


def _round_down(dtype: dt.dtype, to: int) -> int:
    below = _cast(dtype, to - 1)
    if below < to:
        return to
    return below - 2 ** (abs(to - 1).bit_length() - _DIGITS[dtype])


def _check_random_range(dtype: dt.dtype, first: int, last: int) -> None:
    if dtype is dt.bool_:
        low, high = 0.0, 1.0
    elif dtype.is_floating_point:
        low, high = dt.finfo(dtype).min, dt.finfo(dtype).max
    else:
        limits = dt.iinfo(dtype)
        low, high = limits.min, min(limits.max, _INT64.max)
    for name, bound in (("from", first), ("to - 1", last)):
        if not low <= bound <= high:
            raise RuntimeError(f"{name} is out of bounds for {dt.CPP_TYPE[dtype]}")
        digits = _DIGITS.get(dtype, 64)
        if abs(bound) > 2**digits:
            warnings.warn(
                f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to "
                f"precision limitations {dt.CPP_TYPE[dtype]} can support discrete "
                "uniform distribution only within this range. This warning will "
                "become an error in version 1.7 release, please fix the code in "
                "advance",
                UserWarning,
                stacklevel=user_stacklevel(),
            )
