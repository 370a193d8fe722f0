"""exp and tanh of one float32, written so that loops over them become vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._jit import inlined

_F = np.float32
ONE = _F(1)

# exp(x) = 2 ** n * exp(r) with |r| <= log(2) / 2, where exp(r) is a polynomial: Cephes,
# expf.c. Adding _WHOLE rounds to a whole number and leaves it in the lowest bits.
_WHOLE = _F(3 << 22)
_LOG2_E, _LN2_HIGH, _LN2_LOW = _F(1.44269504), _F(0.693359375), _F(-2.12194440e-4)
_E0, _E1, _E2 = _F(1.9875691500e-4), _F(1.3981999507e-3), _F(8.3334519073e-3)
_E3, _E4, _HALF = _F(4.1665795894e-2), _F(1.6666665459e-1), _F(0.5)
_LEAST, _MOST = _F(-87.3), _F(88.72283)


@inlined
def exp(x: Any) -> Any:
    """Return e ** x: at least 1.2e-38, and infinite from 88.4 on."""
    x = _LEAST if x < _LEAST else x
    x = _MOST if x > _MOST else x
    shifted = x * _LOG2_E + _WHOLE
    n = shifted - _WHOLE
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    rest = ((((_E0 * r + _E1) * r + _E2) * r + _E3) * r + _E4) * r + _HALF
    bits = _F(shifted).view(np.int32) << np.int32(23)
    power = np.int32(bits + np.int32(0x3F800000)).view(np.float32)
    return (rest * r * r + r + ONE) * power


# A rational function between -_BOUND and _BOUND, 4 units in the last place from tanh at
# most: Eigen, MathFunctionsImpl.h, ptanh_float.
_BOUND, _FLAT = _F(7.90531110763549805), _F(9)
_P13, _P11, _P9 = _F(-2.76076847742355e-16), _F(2.00018790482477e-13), _F(-8.604672e-11)
_P7, _P5, _P3 = _F(5.12229709037114e-08), _F(1.48572235717979e-05), _F(6.372619288e-04)
_P1 = _F(4.89352455891786e-03)
_Q6, _Q4 = _F(1.19825839466702e-06), _F(1.18534705686654e-04)
_Q2, _Q0 = _F(2.26843463243900e-03), _F(4.89352518554385e-03)


@inlined
def tanh(x: Any) -> Any:
    """Return the hyperbolic tangent; beyond 9 it is 1."""
    y = _BOUND if x > _BOUND else x
    y = -_BOUND if y < -_BOUND else y
    z = y * y
    top = (((_P13 * z + _P11) * z + _P9) * z + _P7) * z + _P5
    top = ((top * z + _P3) * z + _P1) * y
    found = top / (((_Q6 * z + _Q4) * z + _Q2) * z + _Q0)
    found = ONE if x > _FLAT else found
    return -ONE if x < -_FLAT else found
