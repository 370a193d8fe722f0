"""Quotients and what is left over."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..._dispatch.declare import OPS, Array, Operand, method, op, pointwise
from ..._dispatch.inplace import in_place
from ..._dispatch.pointwise import Option
from ..._sparse.array import SparseArray
from ..._sparse.rules import floored
from ..._tensor.tensor import Tensor
from .._kernels.cache_blocks import compiled_as, in_blocks, want_rows
from .._support.operands import (
    HIDDEN,
    POINTWISE,
    UNDERIVED,
    aliases,
    hidden_op,
    in_place_by_operand,
    leaves_out,
    underived,
)
from .._support.reuse_gradient import over


def check_divisor(self: Any, other: Any) -> None:
    """Refuse to divide integers by zero, in PyTorch's words."""
    if self.dtype.kind in "iub" and self.size and not other.all():
        raise RuntimeError("ZeroDivisionError")


def floor_quotient(xp: Any, self: Any, other: Any) -> Any:
    """Divide and round down; integers by zero are refused."""
    check_divisor(self, other)
    if self.dtype.kind not in "fV":
        return self // other
    if self.dtype.itemsize == 2:
        return _stepwise_floor(xp, self, other)
    # NumPy gives NaN for x // 0 where PyTorch gives the infinity of the quotient.
    return xp.where(other == 0, self / other, self // other)


def _stepwise_floor(xp: Any, self: Any, other: Any) -> Any:
    """Divide 16-bit floats and round down, with every step rounded to 16 bits."""
    kind, plain = self.dtype.type, self / other
    rest = xp.fmod(self, other)
    whole = (self - rest) / other
    whole = xp.where((rest != 0) & ((other < 0) != (rest < 0)), whole - kind(1), whole)
    down = xp.floor(whole)
    down = xp.where(whole - down > kind(0.5), down + kind(1), down)
    down = xp.where(whole == 0, xp.copysign(kind(0), plain), down)
    return xp.where(other == 0, plain, down)


def trunc_quotient(xp: Any, self: Any, other: Any) -> Any:
    """Divide and round towards zero; integers by zero are refused."""
    check_divisor(self, other)
    if self.dtype.kind in "fV":
        return xp.trunc(self / other)
    quotient = self // other
    # Integers round down in NumPy: one more where that was not towards zero.
    upward = (quotient < 0) & (quotient * other != self)
    return quotient + upward.astype(self.dtype)


# ---- div, with a rounding mode or without ----


def _check_mode(_name: str, self: Any, other: Any, rounding_mode: Any) -> None:
    if rounding_mode not in ("trunc", "floor"):
        raise RuntimeError(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but "
            f"found '{rounding_mode}'"
        )
    leaves_out("bc", f"div_{rounding_mode}_cpu")("div", self, other)


@hidden_op(
    {
        "self": lambda F, grad, other, rounding_mode: F.zeros_like(grad),
        "other": lambda F, grad, self, other, rounding_mode: F.zeros_like(grad),
    },
    name="div",
    key="_div_rounded",
    node="DivBackward2",
    check=_check_mode,
    **POINTWISE,
)
def _div_rounded(xp: Any, self: Operand, other: Operand, *, rounding_mode: Any) -> Any:
    quotient = floor_quotient if rounding_mode == "floor" else trunc_quotient
    if SparseArray in (type(self), type(other)):
        return floored(self, other, functools.partial(quotient, xp))
    return quotient(xp, self, other)


def _into_divisor(F: Any, grad: Any, self: Any, other: Any) -> Any:
    if F.raw and want_rows(np, grad, self, other):
        found = np.empty(grad.shape, grad.dtype)
        return in_blocks(np, _into_divisor_block, found, grad, self, other)
    found = self / other
    return -grad * F.conj(found / other)


@compiled_as("pointwise.divisor_slope")
def _into_divisor_block(xp: Any, found: Any, grad: Any, self: Any, other: Any) -> None:
    xp.divide(self, -other, found)
    xp.divide(found, other, found)
    xp.multiply(found, grad, found)


@hidden_op(
    {
        "self": lambda F, grad, other, rounding_mode: grad / F.conj(other),
        "other": lambda F, grad, self, other, rounding_mode: _into_divisor(
            F, grad, self, other
        ),
    },
    name="div",
    key="_div_unrounded",
    node="DivBackward2",
    **{**POINTWISE, "promotion": "float"},
)
def _div_unrounded(
    xp: Any, self: Operand, other: Operand, *, rounding_mode: Any
) -> Any:
    return xp.true_divide(self, other)


def _div_by_mode(
    input: Any, other: Any, *, rounding_mode: str | None, out: Tensor | None = None
) -> Tensor:
    """Divide with a mode that was given, be it None: PyTorch has nodes for that."""
    divide = _div_unrounded if rounding_mode is None else _div_rounded
    return divide(input, other, rounding_mode=rounding_mode, out=out)


div = pointwise(
    "div",
    "true_divide",
    {
        "self": lambda F, grad, other: (
            over(grad, F.conj(other)) if F.owns else grad / F.conj(other)
        ),
        "other": lambda F, grad, self, other: _into_divisor(F, grad, self, other),
    },
    arity=2,
    promotion="float",
    option=Option("rounding_mode", ..., _div_by_mode),
)


def _floor_divide(key: str, *derived: str) -> Any:
    return hidden_op(
        underived("floor_divide", *derived),
        name="floor_divide",
        key=key,
        node=UNDERIVED,
        check=leaves_out("bc", "div_floor_cpu"),
        **POINTWISE,
    )


@_floor_divide("_floor_divide_number", "self")
def _floor_divide_number(xp: Any, self: Operand, other: Operand) -> Any:
    if SparseArray in (type(self), type(other)):
        return floored(self, other)
    return floor_quotient(xp, self, other)


@_floor_divide("_floor_divide_tensor", "self", "other")
def _floor_divide_tensor(xp: Any, self: Operand, other: Operand) -> Any:
    if SparseArray in (type(self), type(other)):
        return floored(self, other)
    return floor_quotient(xp, self, other)


@_floor_divide("_floor_divide_of_number", "other")
def _floor_divide_of_number(xp: Any, self: Operand, other: Operand) -> Any:
    return floor_quotient(xp, self, other)


@method(function=True)
def floor_divide(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
    """Divide and round down; no gradient flows."""
    if not isinstance(input, Tensor):
        return _floor_divide_of_number(input, other, out=out)
    form = _floor_divide_tensor if isinstance(other, Tensor) else _floor_divide_number
    return form(input, other, out=out)


# ---- remainder, fmod ----


def _rounded_down(xp: Any, self: Any, other: Any) -> Any:
    """Return the rest that has the divisor's sign; of zeros, NumPy's has it too."""
    found = xp.remainder(self, other)
    if found.dtype.kind not in "fV":
        return found
    return xp.where(found == 0, xp.copysign(found, self), found)


def _cut(xp: Any, self: Any, other: Any) -> Any:
    return xp.fmod(self, other)


def _rest(name: str, mode: str) -> tuple[Any, Any]:
    """Declare the two forms of an op that PyTorch derives differently by divisor."""

    divide = _rounded_down if name == "remainder" else _cut

    def kernel(xp: Any, self: Operand, other: Operand) -> Any:
        check_divisor(self, other)
        return divide(xp, self, other)

    facts: dict[str, Any] = {"name": name, **POINTWISE, **HIDDEN}
    facts["check"] = leaves_out("bc", f"{name}_cpu")
    by_number = op({"self": lambda F, grad: grad}, key=f"_{name}_number", **facts)
    by_tensor = op(
        {
            "self": lambda F, grad: grad,
            "other": lambda F, grad, self, other: (
                -grad * F._div_rounded(self, other, rounding_mode=mode)
            ),
        },
        key=f"_{name}_tensor",
        node=f"{name.capitalize()}Backward1",
        **facts,
    )
    return by_number(kernel), by_tensor(kernel)


_remainder_number, _remainder_tensor = _rest("remainder", "floor")
_fmod_number, _fmod_tensor = _rest("fmod", "trunc")


@hidden_op(
    underived("remainder", "other"),
    name="remainder",
    key="_remainder_of_number",
    node=UNDERIVED,
    check=leaves_out("bc", "remainder_cpu"),
    **POINTWISE,
)
def _remainder_of_number(xp: Any, self: Operand, other: Array) -> Any:
    check_divisor(self, other)
    return _rounded_down(xp, self, other)


@method(function=True)
def remainder(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
    """Return the rest of a division rounded down; it has the divisor's sign."""
    if not isinstance(input, Tensor):
        return _remainder_of_number(input, other, out=out)
    form = _remainder_tensor if isinstance(other, Tensor) else _remainder_number
    return form(input, other, out=out)


@method(function=True)
def fmod(input: Tensor, other: Any, *, out: Tensor | None = None) -> Tensor:
    """Return the rest of a division rounded to zero; it has the dividend's sign."""
    form = _fmod_tensor if isinstance(other, Tensor) else _fmod_number
    return form(input, other, out=out)


for _name in ("floor_divide", "remainder", "fmod"):
    in_place_by_operand(_name, f"_{_name}_number", f"_{_name}_tensor")


@method()
def div_(self: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """In-place version of div()."""
    if rounding_mode is None:
        return _div_in_place(self, other)
    return _div_rounded_in_place(self, other, rounding_mode=rounding_mode)


_div_in_place = in_place(OPS["div"])
_div_rounded_in_place = in_place(OPS["_div_rounded"])
aliases(divide="div", true_divide="div")
