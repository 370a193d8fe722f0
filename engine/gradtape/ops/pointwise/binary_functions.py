"""Less common functions of one or two numbers."""

from __future__ import annotations

from math import pi
from typing import Any

from ..._dispatch.declare import (
    FUNCTIONS,
    Array,
    Operand,
    method,
    op,
    pointwise,
    public,
)
from ..._dispatch.inplace import inplace
from ..._tensor.tensor import Tensor
from .._support.arguments import check_tensor
from .._support.operands import (
    HIDDEN,
    POINTWISE,
    in_place_by_operand,
    is_complex,
    kind_of,
    leaves_out,
    refuses,
)

# ---- angles ----

deg2rad = pointwise(
    "deg2rad",
    lambda xp, self: self * (pi / 180),
    {"self": lambda F, grad: F.deg2rad(grad)},
    promotion="float",
    check=refuses("c", "deg2rad is not supported for complex tensors."),
    node="Deg2RadBackward0",
)
rad2deg = pointwise(
    "rad2deg",
    lambda xp, self: self * (180 / pi),
    {"self": lambda F, grad: F.rad2deg(grad)},
    promotion="float",
    check=refuses("c", "rad2deg is not supported for complex tensors."),
    node="Rad2DegBackward0",
)


def _angle_backward(F: Any, grad: Any, self: Any) -> Any:
    if not is_complex(self):
        return F.zeros_like(self)
    size = F.abs(self)
    return F.where(size == 0, 0.0, grad * (self / (size * size)) * 1j)


@op({"self": _angle_backward}, promotion="float", pointwise=True, out=True)
def angle(xp: Any, self: Array) -> Any:
    """Return the angle of complex numbers: 0 or pi for real ones."""
    if self.dtype.kind == "c":
        return xp.angle(self)
    found = xp.where(self < 0, self.dtype.type(pi), self.dtype.type(0))
    return xp.where(xp.isnan(self), self, found)


# ---- logit, sinc ----

_FLOAT: dict[str, Any] = {**POINTWISE, "promotion": "float"}


def _logit_backward(F: Any, grad: Any, self: Any, eps: float | None) -> Any:
    low, outside = (0.0, float("nan")) if eps is None else (eps, 0.0)
    inside = (self >= low) & (self <= 1 - low)
    return F.where(inside, grad / (self * (1 - self)), outside)


@op({"self": _logit_backward}, check=leaves_out("c", "logit_cpu", 1), **_FLOAT)
def logit(xp: Any, self: Array, eps: float | None = None) -> Any:
    """Return the logarithm of the odds; ``eps`` keeps away from 0 and 1."""
    x = self
    if eps is not None:
        low, high = self.dtype.type(eps), self.dtype.type(1 - eps)
        x = xp.where(x < low, low, xp.where(x > high, high, x))  # low wins, unlike clip
    return xp.log(x / (1 - x))


def _sinc_backward(F: Any, grad: Any, self: Any) -> Any:
    turn, square = self * pi, self * self * pi
    slope = (turn * F.cos(turn) - F.sin(turn)) / square
    return F.where(square == 0, 0.0, grad * F.conj(slope))


sinc = pointwise(
    "sinc", lambda xp, self: xp.sinc(self), {"self": _sinc_backward}, promotion="float"
)

# ---- two operands ----


def _copysign_backward(F: Any, grad: Any, self: Any, result: Any) -> Any:
    return grad * F.where(self == 0, 0.0, result / self)


_COPYSIGN: dict[str, Any] = {
    **POINTWISE,
    **HIDDEN,
    "name": "copysign",
    "promotion": "float",
    "check": leaves_out("c", "copysign_cpu"),
}


@op(
    {"self": _copysign_backward, "other": lambda F, grad: F.zeros_like(grad)},
    key="_copysign_tensor",
    **_COPYSIGN,
)
def _copysign_tensor(xp: Any, self: Operand, other: Operand) -> Any:
    return xp.copysign(self, other)


@op(
    {"self": _copysign_backward},
    key="_copysign_number",
    node="CopysignBackward1",
    **_COPYSIGN,
)
def _copysign_number(xp: Any, self: Array, other: Operand) -> Any:
    return xp.copysign(self, other)


@method(function=True)
def copysign(input: Tensor, other: Any, *, out: Tensor | None = None) -> Tensor:
    """Return the sizes of ``input`` with the signs of ``other``."""
    form = _copysign_tensor if isinstance(other, Tensor) else _copysign_number
    return form(input, other, out=out)


in_place_by_operand("copysign", "_copysign_number", "_copysign_tensor")


@op({}, check=leaves_out("fcb", "gcd_cpu"), **POINTWISE)
def gcd(xp: Any, self: Array, other: Array) -> Any:
    """Return the greatest common divisor of integers."""
    return xp.gcd(self, other)


@op({}, check=leaves_out("fcb", "lcm_cpu"), **POINTWISE)
def lcm(xp: Any, self: Array, other: Array) -> Any:
    """Return the least common multiple of integers."""
    return xp.lcm(self, other)


# ---- tests ----

_BOOL_ONLY = "{name} does not support non-boolean outputs."


@op(
    {},
    check=refuses("c", "{name} does not support complex inputs."),
    pointwise=True,
    out=True,
    out_rule="{name} does not support non-boolean outputs.",
)
def isposinf(xp: Any, self: Array) -> Any:
    """Tell which elements are positive infinity."""
    return self == xp.inf


@op(
    {},
    check=refuses("c", "{name} does not support complex inputs."),
    pointwise=True,
    out=True,
    out_rule="{name} does not support non-boolean outputs.",
)
def isneginf(xp: Any, self: Array) -> Any:
    """Tell which elements are negative infinity."""
    return self == -xp.inf


@public
@method()
def isreal(input: Tensor) -> Tensor:
    """Tell which elements have no imaginary part."""
    check_tensor(input, "isreal")
    if kind_of(input) != "c":
        return FUNCTIONS["ones_like"](input, dtype=FUNCTIONS["eq"](input, input).dtype)
    return FUNCTIONS["imag"](input.detach()) == 0


inplace("deg2rad", "rad2deg", "logit", "sinc", "gcd", "lcm")
