"""Arithmetic that rounds exactly as PyTorch's CPU random kernels do.

Those kernels are compiled with fused multiply-add and call the C library's `log`,
`sin` and `cos` on doubles; for floats they use the Cephes polynomials, eight lanes at
a time. NumPy's own functions differ from both in the last bit here and there, so this
file asks NumPy for the C library by the routes that reach it (complex functions), and
evaluates the polynomials in float64, where a product of two floats is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

F32: TypeAlias = NDArray[np.float32]
F64: TypeAlias = NDArray[np.float64]

# ---- fused multiply-add ----


def _two_sum(a: F64, b: F64) -> tuple[F64, F64]:
    """Return the rounded sum and its exact error (Knuth)."""
    total = a + b
    tail = total - a
    return total, (a - (total - tail)) + (b - tail)


def _two_product(a: F64, b: F64) -> tuple[F64, F64]:
    """Return the rounded product and its exact error (Dekker)."""
    product = a * b
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    error = a_high * b_high - product + a_high * b_low + a_low * b_high + a_low * b_low
    return product, error


def _split(a: F64) -> tuple[F64, F64]:
    scaled = a * 134217729.0  # 2**27 + 1
    high = scaled - (scaled - a)
    return high, a - high


def _sum_to_odd(a: F64, b: F64) -> F64:
    """Add, and where the sum is inexact round it to the neighbour with an odd mantissa.

    A sum rounded so can be rounded once more to a shorter type (or added once more)
    without the error of rounding twice (Boldo and Melquiond, 2008).
    """
    total, error = _two_sum(a, b)
    bits = total.view(np.int64)
    move = (error != 0) & ((bits & 1) == 0)
    away_from_zero = (error > 0) == (total > 0)
    stepped = bits + np.where(away_from_zero, 1, -1)
    return np.where(move, stepped, bits).view(np.float64)


def fma32(a: F32, b: float, c: float) -> F32:
    """Return a * b + c in float32, rounded once; b and c are floats in value."""
    if c == 0.0:
        return a * np.float32(b) + np.float32(0.0)  # + 0 turns -0 into 0, as the sum
    product = a.astype(np.float64) * b
    return _sum_to_odd(product, np.full_like(product, c)).astype(np.float32)


def fma64(a: F64, b: float, c: float | F64) -> F64:
    """Return a * b + c in float64, rounded once.

    The error terms must be normal numbers too: outside 1e-100 to 1e100 the last bit
    may differ.
    """
    if b == 1.0 or (isinstance(c, float) and c == 0.0):
        return a * b + c
    product, product_error = _two_product(a, np.full_like(a, b))
    high, low = _two_sum(np.full_like(a, c), product_error)
    total, error = _two_sum(product, high)
    return total + _sum_to_odd(low, error)


# ---- the C library, in bulk ----


def _complex(real: F64 | float, imaginary: F64 | float) -> NDArray[np.complex128]:
    made = np.empty(np.broadcast(real, imaginary).shape, np.complex128)
    parts = made.view(np.float64).reshape(*made.shape, 2)
    parts[..., 0] = real
    parts[..., 1] = imaginary
    return made


def _real(z: NDArray[np.complex128]) -> F64:
    return z.view(np.float64)[..., 0::2]


def _imag(z: NDArray[np.complex128]) -> F64:
    return z.view(np.float64)[..., 1::2]


def log_one_minus(x: F64) -> F64:
    """Return log(1 - x) by the C library's `log`, for x in [0, 1)."""
    # NumPy's complex log1p is log(hypot(1 + re, im)) on the C library's functions.
    with np.errstate(divide="ignore"):
        return _real(np.log1p(_complex(-x, 0.0)))


def cos_sin(x: F64) -> tuple[F64, F64]:
    """Return cosine and sine by the C library, through exp(ix)."""
    found = np.exp(_complex(0.0, x))
    return _real(found), _imag(found)


def exp(x: F64) -> F64:
    """Return exp(x) by the C library's `exp`."""
    with np.errstate(over="ignore"):
        return _real(np.exp(_complex(x, 0.0)))


def each(function: Callable[[float], float], x: F64) -> F64:
    """Apply a function of `math` (the C library's) to every element."""
    return np.fromiter(map(function, x.tolist()), np.float64, x.size)


def box_muller64(first: F64, second: F64) -> tuple[F64, F64]:
    """Turn uniform doubles in [0, 1) into two sets of standard normal ones."""
    radius = np.sqrt(-2.0 * log_one_minus(first))
    cosine, sine = cos_sin(second * (2.0 * math.pi))
    return radius * cosine, radius * sine


# ---- the Cephes polynomials on floats ----


def _constants(*values: float) -> tuple[float, ...]:
    return tuple(float(np.float32(value)) for value in values)


_LOG: Final = _constants(
    *(7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1),
    *(1.4249322787e-1, -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1),
    3.3333331174e-1,
)
_LOG_2_LOW, _LOG_2_HIGH, _SQRT_HALF = _constants(-2.12194440e-4, 0.693359375, 0.5**0.5)
_SINE: Final = _constants(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COSINE: Final = _constants(
    2.443315711809948e-5, -1.388731625493765e-3, 4.1666645683e-2
)
_FOUR_OVER_PI, _TWO_PI = _constants(4.0 / math.pi, 2.0 * math.pi)
# pi/4 in three parts, the first two short enough for exact products.
_PI_4: Final = _constants(0.78515625, 2.4187564849853515625e-4, 3.77489497744594108e-8)


class _Float32Steps:
    """Evaluate float32 steps in float64 arrays, rounding after each one.

    Rounding a float64 sum to float32 rounds twice, which could differ from one
    rounding in about one step of 2**29. The inputs here take 2**24 values each, and
    for all of them the results equal PyTorch's.
    """

    __slots__ = ("_narrow",)

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._narrow = np.empty(shape, np.float32)

    def round(self, value: F64) -> F64:
        """Round to float32 in place."""
        np.copyto(self._narrow, value, casting="same_kind")
        np.copyto(value, self._narrow)
        return value

    def polynomial(self, coefficients: tuple[float, ...], x: F64) -> F64:
        """Return Horner's sum, one fused step per coefficient."""
        total = x * coefficients[0]
        total += coefficients[1]
        self.round(total)
        for coefficient in coefficients[2:]:
            total *= x
            total += coefficient
            self.round(total)
        return total


def _log32(x: F32, steps: _Float32Steps) -> F32:
    """Return the natural logarithm of floats in (0, 1]."""
    bits = x.view(np.int32)
    exponent = ((bits >> 23) - 126).astype(np.float64)
    mantissa = ((bits & 0x007FFFFF) | 0x3F000000).view(np.float32).astype(np.float64)
    small = mantissa < _SQRT_HALF
    exponent -= small
    m = np.where(small, mantissa + mantissa, mantissa)
    m -= 1.0
    square = steps.round(m * m)
    total = steps.polynomial(_LOG, m)
    total *= m
    steps.round(total)
    total *= square
    total += steps.round(exponent * _LOG_2_LOW)
    steps.round(total)
    square *= 0.5
    total -= square
    steps.round(total)
    total += m
    steps.round(total)
    exponent *= _LOG_2_HIGH
    total += exponent
    return total.astype(np.float32)


def _cos_sin32(x: F32, steps: _Float32Steps) -> tuple[F32, F32]:
    """Return cosine and sine of floats in [0, 2 pi)."""
    octant = (x * np.float32(_FOUR_OVER_PI)).astype(np.int32)
    octant += 1
    octant &= ~1
    turns = octant.astype(np.float64)
    rest = x.astype(np.float64)
    for part in _PI_4:
        rest -= turns * part
        steps.round(rest)
    square = steps.round(rest * rest)
    cosine = steps.polynomial(_COSINE, square)
    cosine *= square
    steps.round(cosine)
    cosine *= square
    cosine -= square * 0.5
    steps.round(cosine)
    cosine += 1.0
    steps.round(cosine)
    sine = steps.polynomial(_SINE, square)
    sine *= square
    steps.round(sine)
    sine *= rest
    sine += rest
    steps.round(sine)
    swap = (octant & 2) != 0
    found_sine = np.where(swap, cosine, sine)
    found_cosine = np.where(swap, sine, cosine)
    np.negative(found_sine, out=found_sine, where=(octant & 4) != 0)
    np.negative(found_cosine, out=found_cosine, where=((octant + 2) & 4) != 0)
    return found_cosine.astype(np.float32), found_sine.astype(np.float32)


def box_muller32(first: F32, second: F32) -> tuple[F32, F32]:
    """Turn uniform floats in [0, 1) into two sets of standard normal ones."""
    steps = _Float32Steps(first.shape)
    radius = np.sqrt(np.float32(-2.0) * _log32(np.float32(1.0) - first, steps))
    cosine, sine = _cos_sin32(second * np.float32(_TWO_PI), steps)
    return radius * cosine, radius * sine
