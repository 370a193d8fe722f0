"""Activations in pieces: leaky_relu, the elus, hardtanh and its kin, the shrinks.

Each derivative is an op of its own (``elu_backward``…), as in PyTorch, so that a second
derivative finds its way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._dispatch.declare import Array, node_name, op
from ..._dispatch.inplace import inplace
from ..._dtypes import DTYPE_OF, finfo
from ..._graph.op import Derivative
from .._kernels.bitwise_select import check_floating, choose, keep
from .._kernels.upcast import rounded_once
from .._support.new_tensor import array_like
from .._support.operands import OWN_DTYPE, hidden_op
from .._support.scalar_range import in_range

_NEGATIVE = (
    "In-place {name} backward calculation is triggered with a negative slope which is "
    "not supported. This is caused by calling in-place forward function with a negative"
    " slope, please call out-of-place version instead."
)
_LEAKY_ISSUE = (
    " File an issue at https://github.com/pytorch/pytorch if you do require supporting "
    "in-place leakRelu backward calculation with negative slope"
)


def _in_place(name: str, derivative: Derivative) -> Callable[..., Any]:
    """Declare the overload that writes over its input, and saves its result."""
    node = f"{node_name(name)[:-1]}1"
    facts = {"name": name, "key": f"{name}_", "node": node, "family": "elementwise"}
    return hidden_op({"self": derivative}, **facts)


# ---- leaky_relu ----


def _leaky_relu(xp: Any, self: Array, negative_slope: float = 0.01) -> Any:
    """Multiply what is negative by a slope."""
    check_floating(self, "leaky_relu_cpu")
    found = xp.multiply(self, negative_slope)
    if 0 <= negative_slope <= 1:
        return xp.maximum(self, found)
    return choose(xp, self > 0, self, found)


leaky_relu = hidden_op(
    {
        "self": lambda F, grad, self, negative_slope: F.leaky_relu_backward(
            grad, self, negative_slope, False
        )
    },
    name="leaky_relu",
    family="elementwise",
)(_leaky_relu)
_in_place(
    "leaky_relu",
    lambda F, grad, result, negative_slope: F.leaky_relu_backward(
        grad, result, negative_slope, True
    ),
)(_leaky_relu)


@hidden_op(
    {
        "grad_output": lambda F, grad, self, negative_slope, self_is_result: (
            F.leaky_relu_backward(grad, self, negative_slope, self_is_result)
        ),
        "self": lambda F, grad: F.zeros_like(grad),
    },
    family="elementwise",
)
def leaky_relu_backward(
    xp: Any,
    grad_output: Array,
    self: Array,
    negative_slope: float,
    self_is_result: bool,
) -> Any:
    """Multiply the gradient by the slope where the value is not positive."""
    if self_is_result and negative_slope < 0:
        raise RuntimeError(_NEGATIVE.format(name="leakyReLu") + _LEAKY_ISSUE)
    return choose(xp, self > 0, grad_output, grad_output * negative_slope)


# ---- elu, selu, celu ----


def _elu(
    xp: Any,
    self: Array,
    alpha: float = 1.0,
    scale: float = 1.0,
    input_scale: float = 1.0,
) -> Any:
    """Bend what is negative to ``alpha * (exp(x) - 1)``."""
    check_floating(self, "elu_cpu")
    below = xp.expm1(xp.minimum(self, self.dtype.type(0)) * input_scale)
    below = below * (alpha * scale)
    return choose(xp, self > 0, self * scale if scale != 1 else self, below)


elu = hidden_op(
    {
        "self": lambda F, grad, self, alpha, scale, input_scale: F.elu_backward(
            grad, self, alpha, scale, input_scale, False
        )
    },
    name="elu",
    family="elementwise",
)(_elu)
_in_place(
    "elu",
    lambda F, grad, result, alpha, scale, input_scale: F.elu_backward(
        grad, result, alpha, scale, input_scale, True
    ),
)(_elu)


def _celu(xp: Any, self: Array, alpha: float = 1.0) -> Any:
    """Bend what is negative to ``alpha * (exp(x / alpha) - 1)``."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _elu(xp, self, alpha, 1.0, 1.0 / alpha)


celu = op(
    {
        "self": lambda F, grad, self, alpha: F.elu_backward(
            grad, self, alpha, 1.0, 1.0 / alpha, False
        )
    },
    name="celu",
    method=False,
    family="elementwise",
)(_celu)
_in_place(
    "celu",
    lambda F, grad, result, alpha: F.elu_backward(
        grad, result, alpha, 1.0, 1.0 / alpha, True
    ),
)(_celu)


def _elu_outgoing(
    F: Any,
    grad: Any,
    self_or_result: Any,
    alpha: float,
    scale: float,
    input_scale: float,
    is_result: bool,
) -> Any:
    return F.elu_backward(grad, self_or_result, alpha, scale, input_scale, is_result)


def _elu_curvature(
    F: Any,
    grad: Any,
    grad_output: Any,
    self_or_result: Any,
    alpha: float,
    scale: float,
    input_scale: float,
    is_result: bool,
) -> Any:
    x = self_or_result
    below = grad * grad_output * (x < 0) * input_scale
    if is_result:
        return below
    decay = F.exp(-F.abs(x * input_scale))  # below zero; finite above
    return below * decay * (alpha * scale * input_scale)


@hidden_op(
    {"grad_output": _elu_outgoing, "self_or_result": _elu_curvature},
    family="elementwise",
)
@rounded_once
def elu_backward(
    xp: Any,
    grad_output: Array,
    self_or_result: Array,
    alpha: float,
    scale: float,
    input_scale: float,
    is_result: bool,
) -> Any:
    """Multiply the gradient by the slope of elu, told from its input or its result."""
    if is_result and alpha < 0:
        raise RuntimeError(_NEGATIVE.format(name="elu"))
    x, slope = self_or_result, array_like(xp, self_or_result)
    if is_result:
        xp.multiply(x + alpha * scale, input_scale, slope)
    else:
        xp.exp(xp.minimum(x, x.dtype.type(0)) * input_scale, slope)
        slope *= input_scale * alpha * scale
    slope = choose(xp, ~(x <= 0), x.dtype.type(scale), slope)  # NaN included
    slope *= grad_output
    return slope


inplace("leaky_relu_", "elu_", "celu_")


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
