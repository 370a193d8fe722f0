"""Powers, in the three forms that PyTorch derives differently."""

from __future__ import annotations

import cmath
from math import inf, log, nan
from typing import Any

from ..._dispatch.declare import Array, Operand, method, op, pointwise
from ..._dispatch.overloads import combination_error
from ..._dtypes import complex128, float64
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
    return grad * (result * (log(self) if self > 0 else nan))


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
