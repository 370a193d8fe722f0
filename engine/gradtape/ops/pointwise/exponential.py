"""Exponentials, logarithms, roots and reciprocals."""

from __future__ import annotations

import warnings
from math import log as _log
from math import nan
from typing import Any

from ..._common.site import user_stacklevel
from ..._dispatch.declare import Array, op, pointwise
from ..._dispatch.inplace import inplace
from ..._sparse.array import SparseArray
from .._support.operands import POINTWISE, leaves_out
from .._support.reuse_gradient import times

_DENSE_SLOPE = (
    "log1p_backward: received self with sparse layout, but backward requires "
    "materialization of a dense tensor with this shape"
)
LN2, LN10 = _log(2.0), _log(10.0)

# ---- roots ----

sqrt = pointwise(
    "sqrt",
    "sqrt",
    {"self": lambda F, grad, result: grad / (2 * F.conj(result))},
    promotion="float",
)
rsqrt = pointwise(
    "rsqrt",
    lambda xp, self: xp.reciprocal(xp.sqrt(self)),
    {"self": lambda F, grad, result: -0.5 * grad * F.conj(result * result * result)},
    promotion="float",
)
reciprocal = pointwise(
    "reciprocal",
    "reciprocal",
    {"self": lambda F, grad, result: -grad * F.conj(result * result)},
    promotion="float",
)

# ---- exponentials ----

exp = pointwise(
    "exp",
    "exp",
    {
        "self": lambda F, grad, result: (
            times(grad, F.conj(result)) if F.owns else grad * F.conj(result)
        )
    },
    promotion="float",
)
exp2 = pointwise(
    "exp2",
    "exp2",
    {"self": lambda F, grad, result: grad * F.conj(result) * LN2},
    promotion="float",
)
expm1 = pointwise(
    "expm1",
    "expm1",
    {"self": lambda F, grad, result: grad * (F.conj(result) + 1)},
    promotion="float",
)

# ---- logarithms ----

log = pointwise(
    "log",
    "log",
    {"self": lambda F, grad, self: grad / F.conj(self)},
    promotion="float",
)
log2 = pointwise(
    "log2",
    "log2",
    {"self": lambda F, grad, self: grad / (F.conj(self) * LN2)},
    promotion="float",
)
log10 = pointwise(
    "log10",
    "log10",
    {"self": lambda F, grad, self: grad / (F.conj(self) * LN10)},
    promotion="float",
)


def _log1p(xp: Any, self: Any) -> Any:
    """Keep the small real parts of complex numbers, which NumPy adds 1 to."""
    if self.dtype.kind != "c":
        return xp.log1p(self)
    x, y = self.real, self.imag
    near = x * (2 + x) + y * y  # |1 + z|² - 1
    small = xp.where(near == 0, x, xp.log1p(near) / 2)
    size = xp.where(xp.abs(self) < 0.5, small, xp.log(xp.hypot(x + 1, y)))
    return size + 1j * xp.arctan2(y, x + 1)


def _log1p_backward(F: Any, grad: Any, self: Any) -> Any:
    if F.raw and type(self) is SparseArray:
        self = self.todense()
    elif not F.raw and self.is_sparse:
        self = self.to_dense()
    else:
        return grad / F.conj(self + 1)
    warnings.warn(_DENSE_SLOPE, UserWarning, stacklevel=user_stacklevel())
    return grad * F.reciprocal(F.conj(self + 1))


log1p = pointwise(
    "log1p",
    _log1p,
    {"self": _log1p_backward},
    promotion="float",
    node="Log1PBackward0",
)


@op(
    {
        "self": lambda F, grad, self, other: grad / F.conj(1 + F.exp(other - self)),
        "other": lambda F, grad, self, other: grad / F.conj(1 + F.exp(self - other)),
    },
    check=leaves_out("biu", "logaddexp_cpu"),
    **POINTWISE,
)
def logaddexp(xp: Any, self: Array, other: Array) -> Any:
    """Return the logarithm of the sum of two exponentials."""
    if self.dtype.kind != "c":
        return xp.logaddexp(self, other)
    return complex_logaddexp(xp, self, other)


def complex_logaddexp(xp: Any, self: Any, other: Any) -> Any:
    """Return the logarithm of a sum, on the branch of the larger operand.

    Two equal infinities have no difference; NaN in a part makes NaN of both.
    """
    larger = self.real >= other.real
    high, low = xp.where(larger, self, other), xp.where(larger, other, self)
    found = high + xp.log(1 + xp.exp(low - high))
    endless = xp.isinf(self.real) & (self.real == other.real)
    if endless.any():
        sums = xp.log(xp.exp(self) + xp.exp(other))
        found = xp.where(endless, xp.where(self.real > 0, sums, other), found)
    return xp.where(xp.isnan(self) | xp.isnan(other), complex(nan, nan), found)


@op(
    {
        "self": lambda F, grad, self, other: grad / (1 + F.exp2(other - self)),
        "other": lambda F, grad, self, other: grad / (1 + F.exp2(self - other)),
    },
    check=leaves_out("biuc", "logaddexp2_cpu"),
    **POINTWISE,
)
def logaddexp2(xp: Any, self: Array, other: Array) -> Any:
    """Return the base-2 logarithm of the sum of two powers of 2."""
    return xp.logaddexp2(self, other)


inplace("sqrt", "rsqrt", "reciprocal", "exp", "exp2", "expm1")
inplace("log", "log2", "log10", "log1p")
