"""exp, tanh and erf of one float32, written so that loops over them become vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..normal_terms import GELU_TERMS
from ._jit import inlined

_F = np.float32
ZERO, HALF, ONE, TWO = _F(0), _F(0.5), _F(1), _F(2)

# exp(x) = 2 ** n * exp(r) with |r| <= log(2) / 2, where exp(r) is a polynomial: Cephes,
# expf.c. Adding _WHOLE rounds to a whole number and leaves it in the lowest bits.
_WHOLE = _F(3 << 22)
_LOG2_E, _LN2_HIGH, _LN2_LOW = _F(1.44269504), _F(0.693359375), _F(-2.12194440e-4)
_E0, _E1, _E2 = _F(1.9875691500e-4), _F(1.3981999507e-3), _F(8.3334519073e-3)
_E3, _E4 = _F(4.1665795894e-2), _F(1.6666665459e-1)
_LEAST, _MOST = _F(-87.3), _F(88.72283)


@inlined
def exp(x: Any) -> Any:
    """Return e ** x: 0 below -87.3, and infinite from 88.4 on."""
    y = _LEAST if x < _LEAST else x
    y = _MOST if y > _MOST else y
    shifted = y * _LOG2_E + _WHOLE
    n = shifted - _WHOLE
    r = (y - n * _LN2_HIGH) - n * _LN2_LOW
    rest = ((((_E0 * r + _E1) * r + _E2) * r + _E3) * r + _E4) * r + HALF
    bits = _F(shifted).view(np.int32) << np.int32(23)
    power = np.int32(bits + np.int32(0x3F800000)).view(np.float32)
    return ZERO if x < _LEAST else (rest * r * r + r + ONE) * power


# Up to _NEAR a polynomial, where the other formula would cancel: Cephes, tanhf.c.
_NEAR = _F(0.625)
_T0, _T1, _T2 = _F(-5.70498872745e-3), _F(2.06390887954e-2), _F(-5.37397155531e-2)
_T3, _T4 = _F(1.33314422036e-1), _F(-3.33332819422e-1)


@inlined
def tanh(x: Any) -> Any:
    """Return the hyperbolic tangent."""
    size, z = abs(x), x * x
    near = ((((_T0 * z + _T1) * z + _T2) * z + _T3) * z + _T4) * z * x + x
    far = ONE - TWO / (exp(size + size) + ONE)
    far = -far if x < 0 else far
    return near if size < _NEAR else far


# 2 ** x in the same way: Cephes, exp2f.c.
_P0, _P1, _P2 = _F(1.535336188319500e-4), _F(1.339887440266574e-3), _F(9.61843735e-3)
_P3, _P4, _P5 = _F(5.550332471162809e-2), _F(2.402264791363012e-1), _F(6.93147202e-1)
_SMALLEST = _F(-126)


@inlined
def power_of_two(x: Any) -> Any:
    """Return 2 ** x for x up to 0; below -126 that is 0."""
    y = _SMALLEST if x < _SMALLEST else x
    shifted = y + _WHOLE
    r = y - (shifted - _WHOLE)
    part = (((((_P0 * r + _P1) * r + _P2) * r + _P3) * r + _P4) * r + _P5) * r + ONE
    bits = _F(shifted).view(np.int32) << np.int32(23)
    power = np.int32(bits + np.int32(0x3F800000)).view(np.float32)
    return ZERO if x < _SMALLEST else part * power


_TWICE = 2 * math.log2(math.e)
_G6, _G5, _G4, _G3, _G2, _G1, _G0 = (_F(_TWICE * term) for term in GELU_TERMS)


@inlined
def normal_share(x: Any) -> Any:
    """Return how much of a normal distribution lies below x.

    It is (1 + tanh(y)) / 2, written so that it loses no digits on either side.
    """
    z = x * x
    bent = (((((_G6 * z + _G5) * z + _G4) * z + _G3) * z + _G2) * z + _G1) * z + _G0
    beyond = power_of_two(-abs(bent * x))
    share = beyond / (ONE + beyond)
    return share if x < 0 else ONE - share
