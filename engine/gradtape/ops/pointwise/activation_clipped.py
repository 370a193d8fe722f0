"""Activations that cut: hardtanh, hardsigmoid, hardswish and the shrinks."""

from __future__ import annotations

from typing import Any

from ..._dispatch.declare import Array, op
from ..._dispatch.inplace import inplace
from ..._dtypes import DTYPE_OF, finfo
from .._kernels.bitwise_select import check_floating, keep
from .._kernels.upcast import rounded_once
from .._support.new_tensor import array_like
from .._support.operands import OWN_DTYPE, hidden_op
from .._support.scalar_range import in_range

_SIXTH = 0.1666666716337204  # in single precision, for every dtype, as in PyTorch

# ---- hardtanh, hardsigmoid, hardswish: cut on both sides ----


def _check_cut(array: Any, least: float) -> None:
    if array.dtype.kind == "b":
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if array.dtype.kind == "c":
        raise NotImplementedError("clamp is not supported for complex types")
    if least < 0:
        raise RuntimeError(
            "cannot do hardtanh on an unsigned type with negative limits"
        )


@hidden_op(
    {
        "self": lambda F, grad, self, min_val, max_val: F.hardtanh_backward(
            grad, self, min_val, max_val
        )
    },
    family="elementwise",
)
def hardtanh(xp: Any, self: Array, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    """Cut to the range from ``min_val`` to ``max_val``."""
    if self.dtype.kind in "ubc":
        _check_cut(self, min_val)
    kind = DTYPE_OF[self.dtype]
    low, high = (self.dtype.type(in_range(v, kind)) for v in (min_val, max_val))
    return xp.minimum(xp.maximum(self, low), high)


@hidden_op(
    {
        "grad_output": lambda F, grad, self, min_val, max_val: F.hardtanh_backward(
            grad, self, min_val, max_val
        ),
        "self": lambda F, grad: F.zeros_like(grad),
    },
    family="elementwise",
)
def hardtanh_backward(
    xp: Any, grad_output: Array, self: Array, min_val: float, max_val: float
) -> Any:
    """Let the gradient through where nothing was cut."""
    return keep(xp, ~((self <= min_val) | (self >= max_val)), grad_output)


@hidden_op(
    {
        "self": lambda F, grad, self: F.hardsigmoid_backward(grad, self),
    },
    family="elementwise",
)
def hardsigmoid(xp: Any, self: Array) -> Any:
    """Return ``clamp(x + 3, 0, 6) / 6``."""
    check_floating(self, "hardsigmoid_cpu")
    return xp.clip(self + 3, 0, 6) / 6


@hidden_op(
    {
        "grad_output": lambda F, grad, self: F.hardsigmoid_backward(grad, self),
        "self": lambda F, grad: F.zeros_like(grad),
    },
    family="elementwise",
)
def hardsigmoid_backward(xp: Any, grad_output: Array, self: Array) -> Any:
    """Let a sixth of the gradient through where nothing was cut; NaN counts as cut."""
    return keep(xp, (self > -3) & (self < 3), grad_output * _SIXTH)


@hidden_op(
    {"self": lambda F, grad, self: F.hardswish_backward(grad, self)},
    family="elementwise",
)
def hardswish(xp: Any, self: Array) -> Any:
    """Return ``x * clamp(x + 3, 0, 6) / 6``."""
    check_floating(self, "hardswish_cpu")
    return self * xp.clip(self + 3, 0, 6) / 6


@hidden_op(
    {
        "grad_output": lambda F, grad, self: F.hardswish_backward(grad, self),
        "self": lambda F, grad, grad_output, self: (
            F.hardtanh_backward(grad * grad_output, self, -3.0, 3.0) * (1 / 3)
        ),
    },
    family="elementwise",
)
@rounded_once
def hardswish_backward(xp: Any, grad_output: Array, self: Array) -> Any:
    """Multiply the gradient by the slope of hardswish."""
    slope = array_like(xp, self)
    xp.divide(self, 3, slope)
    slope += 0.5
    xp.copyto(slope, 0, where=self <= -3)
    xp.copyto(slope, 1, where=~(self < 3))  # NaN included
    slope *= grad_output
    return slope


# ---- shrinks: zero around zero ----


def _shrink_derivative(F: Any, grad: Any, self: Any, lambd: Any) -> Any:
    return F.hardshrink_backward(grad, self, lambd)


@op({"self": _shrink_derivative}, out=True, out_rule=OWN_DTYPE, family="elementwise")
def hardshrink(xp: Any, self: Array, lambd: float = 0.5) -> Any:
    """Set what is between -lambd and lambd to zero."""
    check_floating(self, "hardshrink_cpu")
    lambd = in_range(lambd, DTYPE_OF[self.dtype])
    return xp.where((self >= -lambd) & (self <= lambd), self.dtype.type(0), self)


@hidden_op(
    {"self": _shrink_derivative}, out=True, out_rule=OWN_DTYPE, family="elementwise"
)
def softshrink(xp: Any, self: Array, lambd: float = 0.5) -> Any:
    """Move values towards zero by lambd, not past it."""
    check_floating(self, "softshrink_check")
    kind = DTYPE_OF[self.dtype]
    top = finfo(kind).max
    if not 0 <= lambd <= top:
        raise RuntimeError(
            f"lambda must be in range [0, {top:g}] for input dtype {kind.cpp_name}, but"
            f" found {lambd:g}"
        )
    return self - xp.clip(self, -lambd, lambd)


@hidden_op(
    {
        "grad_output": lambda F, grad, self, lambd: F.hardshrink_backward(
            grad, self, lambd
        ),
        "self": lambda F, grad: F.zeros_like(grad),
    },
    family="elementwise",
)
def hardshrink_backward(xp: Any, grad_output: Array, self: Array, lambd: float) -> Any:
    """Let the gradient through outside of the dead zone."""
    return keep(xp, ~((self >= -lambd) & (self <= lambd)), grad_output)


inplace("hardtanh", "hardsigmoid", "hardswish")
