"""Powers, roots, exponentials and logarithms."""

from __future__ import annotations

import cmath
import warnings
from math import inf, nan
from math import log as _log
from typing import Any

from ..._common.site import user_stacklevel
from ..._dispatch.declare import Array, Operand, method, op, pointwise
from ..._dispatch.inplace import inplace
from ..._dispatch.overloads import combination_error
from ..._dtypes import complex128, float64
from ..._sparse.array import SparseArray
from ..._tensor.tensor import Tensor
from .._support.operands import (
    HIDDEN,
    POINTWISE,
    computed_in,
    in_place_by_operand,
    is_complex,
    kind_of,
    leaves_out,
    number,
)
from .._support.out_argument import with_out
from .._support.reuse_gradient import times
from .._support.scalar_range import in_range

_NEGATIVE = "Integers to negative integer powers are not allowed."


def _power(xp: Any, self: Any, exponent: Any) -> Any:
    if self.dtype.kind not in "iub":
        return self**exponent
    # NumPy refuses all negative exponents; PyTorch rounds the fraction to 0 or ±1.
    found = self ** xp.maximum(exponent, 0)
    odd = xp.where(exponent % 2 == 0, 1, self)
    fraction = xp.where(xp.abs(self) == 1, odd, 0)
    return xp.where(exponent < 0, fraction, found).astype(self.dtype, copy=False)


def _check_exponent(_name: str, self: Any, exponent: Any) -> None:
    if kind_of(self, exponent) in "iub" and exponent < 0:
        raise RuntimeError(_NEGATIVE)
    kind = computed_in(self, exponent)
    if kind.itemsize == 2 or not (kind.is_floating_point or kind.is_complex):
        in_range(number(exponent), kind)


def _pow_backward(F: Any, grad: Any, self: Any, exponent: Any) -> Any:
    if exponent == 0:
        return F.zeros_like(grad)
    if exponent == 2 and F.raw:  # recorded, x**1 keeps the way to higher orders
        return grad * F.conj(2 * self)
    return grad * F.conj(exponent * F._pow_number(self, exponent - 1))


def _pow_backward_self(F: Any, grad: Any, self: Any, exponent: Any) -> Any:
    slope = grad * F.conj(exponent * F._pow_tensors(self, exponent - 1))
    return F.where(exponent == 0, 0.0, slope)


def _from_zero_on(exponent: Any) -> Any:
    if is_complex(exponent):
        return (exponent.imag == 0) & (exponent.real >= 0)
    return exponent >= 0


def _pow_backward_exponent(
    F: Any, grad: Any, self: Any, exponent: Any, result: Any
) -> Any:
    # At a zero base the slope is 0 where the power is 0 or 1, as in PyTorch.
    flat = (self == 0) & _from_zero_on(exponent)
    base = self + 0j if is_complex(result) and not is_complex(self) else self
    return grad * F.where(flat, 0.0, F.conj(result * F.log(base)))


def _pow_backward_number(
    F: Any, grad: Any, self: Any, exponent: Any, result: Any
) -> Any:
    if self == 0:
        if is_complex(result):
            flat = _from_zero_on(exponent)
            return grad * F.where(flat, 0.0, F.conj(result * -inf))
        return grad * F.where(exponent >= 0, 0.0, result * -inf)
    if is_complex(result):
        return grad * F.conj(result * cmath.log(self))
    return grad * (result * (_log(self) if self > 0 else nan))


_FACTS: dict[str, Any] = {**POINTWISE, **HIDDEN, "name": "pow"}


def _to_number(xp: Any, self: Array, exponent: Operand) -> Any:
    if self.dtype.kind not in "fc":
        return _power(xp, self, exponent)
    return _float_to_number(xp, self, number(exponent))


def _float_to_number(xp: Any, self: Any, exponent: Any) -> Any:
    if exponent == -0.5:
        return xp.reciprocal(xp.sqrt(self))  # of -0: -inf, as in PyTorch
    if exponent in (3, -2) and self.dtype.kind == "f":
        # As PyTorch; NumPy's power takes 45 ns an element where the base is negative.
        return self * self * self if exponent == 3 else xp.reciprocal(self * self)
    return self**exponent  # NumPy has short cuts for 2, 0.5 and -1


_pow_number = pointwise(
    "pow",
    _float_to_number,
    {"self": _pow_backward},
    arity=2,
    key="_pow_number",
    general=_to_number,
    check=_check_exponent,
    **HIDDEN,
)


@op(
    {"self": _pow_backward_self, "exponent": _pow_backward_exponent},
    key="_pow_tensors",
    check=leaves_out("b", "pow"),
    node="PowBackward1",
    **_FACTS,
)
def _pow_tensors(xp: Any, self: Array, exponent: Array) -> Any:
    found = _power(xp, self, exponent)
    if found.dtype.kind == "c":  # of exp(exponent * log(self)), and log has no value
        open_base = (self == 0) | ~xp.isfinite(self)
        found = xp.where(open_base & (exponent == 0), complex(nan, nan), found)
    return found


@op(
    {"exponent": _pow_backward_number},
    key="_pow_of_number",
    node="PowBackward2",
    check=leaves_out("b", "pow"),
    **{**_FACTS, "pointwise": False},
)
def _pow_of_number(xp: Any, self: Operand, exponent: Array) -> Any:
    # PyTorch lays this form out row by row, whatever the exponent's layout.
    return xp.asarray(_power(xp, self, exponent), order="C")


@method(function=True)
def pow(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """Raise to a power; base or exponent may be a number."""
    if type(exponent) is int or type(exponent) is float:
        return _pow_number(input, exponent, out=out)
    if not isinstance(exponent, Tensor):
        return _pow_number(input, number(exponent), out=out)
    if isinstance(input, Tensor):
        return _pow_tensors(input, exponent, out=out)
    return _pow_of_number(number(input), exponent, out=out)


in_place_by_operand("pow", "_pow_number", "_pow_tensors")


@method(function=True)
def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Multiply each element with itself."""
    return pow(input, 2, out=out)


@method()
def square_(self: Tensor) -> Tensor:
    """In-place version of square()."""
    return self.pow_(2)


@method(function=True)
@with_out(
    "the output given to float_power has dtype {out} but the operation's result "
    "requires dtype {result}"
)
def float_power(input: Any, exponent: Any) -> Tensor:
    """Raise to a power in double precision."""
    if not (isinstance(input, Tensor) or isinstance(exponent, Tensor)):
        raise combination_error("float_power", (input, exponent))
    kinds = [kind_of(v) for v in (input, exponent)]
    wide = complex128 if "c" in kinds else float64
    base, power = (
        v.to(wide) if isinstance(v, Tensor) else v for v in (input, exponent)
    )
    return pow(base, power)


@method()
def float_power_(self: Tensor, exponent: Any) -> Tensor:
    """In-place version of float_power(), for double precision alone."""
    kinds = [kind_of(v) for v in (self, exponent)]
    wide = complex128 if "c" in kinds else float64
    if self.dtype is not wide:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {self.dtype.cpp_name} but the "
            f"operation's result requires dtype {wide.cpp_name}"
        )
    return self.pow_(exponent.to(wide) if isinstance(exponent, Tensor) else exponent)


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
