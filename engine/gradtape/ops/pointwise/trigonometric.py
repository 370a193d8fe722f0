"""Circular and hyperbolic functions and their inverses."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._dispatch.declare import Array, op, pointwise
from ..._dispatch.inplace import inplace
from ..._graph.output_layout import LARGE
from .._kernels.cache_blocks import compiled_as, in_blocks, want_blocks
from .._kernels.upcast import rounded_once
from .._support.operands import POINTWISE, aliases, is_complex, leaves_out

# ---- circular ----

sin = pointwise(
    "sin",
    "sin",
    {"self": lambda F, grad, self: grad * F.conj(F.cos(self))},
    promotion="float",
)
cos = pointwise(
    "cos",
    "cos",
    {"self": lambda F, grad, self: grad * -F.conj(F.sin(self))},
    promotion="float",
)
tan = pointwise(
    "tan",
    "tan",
    {"self": lambda F, grad, result: grad * F.conj(1 + result * result)},
    promotion="float",
)
asin = pointwise(
    "asin",
    "arcsin",
    {"self": lambda F, grad, self: grad * F.conj(F.rsqrt(1 - self * self))},
    promotion="float",
)
acos = pointwise(
    "acos",
    "arccos",
    {"self": lambda F, grad, self: grad * -F.conj(F.rsqrt(1 - self * self))},
    promotion="float",
)
atan = pointwise(
    "atan",
    "arctan",
    {"self": lambda F, grad, self: grad / F.conj(self * self + 1)},
    promotion="float",
)


def _inverse(F: Any, square: Any) -> Any:
    """Return the reciprocal; 0 at the origin, where no angle is defined."""
    return F.where(square == 0, 0.0, F.reciprocal(square))


atan2 = pointwise(
    "atan2",
    "arctan2",
    {
        "self": lambda F, grad, self, other: (
            grad * other * _inverse(F, self * self + other * other)
        ),
        "other": lambda F, grad, self, other: (
            grad * -self * _inverse(F, self * self + other * other)
        ),
    },
    arity=2,
    promotion="float",
    check=leaves_out("c", "atan2_cpu"),
    numbers=False,
)


@op(
    {
        "self": lambda F, grad, self, result: grad * (self / result),
        "other": lambda F, grad, other, result: grad * (other / result),
    },
    check=leaves_out("biuc", "hypot_cpu"),
    **POINTWISE,
)
def hypot(xp: Any, self: Array, other: Array) -> Any:
    """Return the length of the hypotenuse over two sides."""
    return xp.hypot(self, other)


# ---- hyperbolic ----

sinh = pointwise(
    "sinh",
    "sinh",
    {"self": lambda F, grad, self: grad * F.conj(F.cosh(self))},
    promotion="float",
)
cosh = pointwise(
    "cosh",
    "cosh",
    {"self": lambda F, grad, self: grad * F.conj(F.sinh(self))},
    promotion="float",
)
tanh = pointwise(
    "tanh",
    "tanh",
    {
        "self": lambda F, grad, result: (
            in_blocks(np, _times_slope, grad, grad, result)
            if F.owns and want_blocks(np, grad, result)
            else F.tanh_backward(grad, result)
        )
    },
    promotion="float",
)
asinh = pointwise(
    "asinh",
    "arcsinh",
    {"self": lambda F, grad, self: grad * F.conj(F.rsqrt(self * self + 1))},
    promotion="float",
)


def _acosh_slope(F: Any, self: Any) -> Any:
    if is_complex(self):  # the branch cut that acosh itself has
        return F.rsqrt(self - 1) * F.rsqrt(self + 1)
    return F.rsqrt(self * self - 1)


acosh = pointwise(
    "acosh",
    "arccosh",
    {"self": lambda F, grad, self: grad * F.conj(_acosh_slope(F, self))},
    promotion="float",
)
atanh = pointwise(
    "atanh",
    "arctanh",
    {"self": lambda F, grad, self: grad * F.conj(F.reciprocal(1 - self * self))},
    promotion="float",
)


def _tanh_backward(xp: Any, grad: Any, output: Any) -> Any:
    if output.itemsize == 2:
        return _in_single(xp, grad, output)
    if want_blocks(xp, output, grad):
        return in_blocks(xp, _times_slope, xp.empty_like(output), grad, output)
    square = output * output
    if output.dtype.kind == "c":
        return grad * (1 - xp.conj(square))
    if output.size < LARGE or grad.shape != output.shape:  # out= slows small ones
        return grad * (1 - square)
    slope = xp.subtract(1, square, square)
    slope *= grad
    return slope


_in_single = rounded_once(_tanh_backward)


@compiled_as("pointwise.tanh_slope", over=True)
def _times_slope(xp: Any, found: Any, grad: Any, output: Any) -> None:
    """Multiply a gradient by the slope of tanh; ``found`` may be the gradient."""
    slope = output * output
    xp.subtract(1, slope, slope)
    xp.multiply(grad, slope, found)


pointwise(
    "tanh_backward",
    _tanh_backward,
    {
        "self": lambda F, grad, other: F.tanh_backward(grad, F.conj(other)),
        "other": lambda F, grad, self, other: (
            F.conj(grad) * (-2 * F.conj(other) * self)
        ),
    },
    arity=2,
    method=False,
    function=False,
    out=False,
)

inplace("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "hypot")
inplace("sinh", "cosh", "tanh", "asinh", "acosh", "atanh")
aliases(arcsin="asin", arccos="acos", arctan="atan", arctan2="atan2")
aliases(arcsinh="asinh", arccosh="acosh", arctanh="atanh")
