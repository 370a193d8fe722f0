"""Activations with another slope or a curve below zero: leaky_relu, elu, celu.

Each derivative is an op of its own (``elu_backward``…), as in PyTorch, so that a
second derivative finds its way.
"""

from __future__ import annotations

from typing import Any

from ..._dispatch.declare import Array, op
from ..._dispatch.inplace import inplace
from .._kernels.bitwise_select import check_floating, choose
from .._kernels.upcast import rounded_once
from .._support.new_tensor import array_like
from .._support.operands import hidden_op

_NEGATIVE = (
    "In-place {name} backward calculation is triggered with a negative slope which is "
    "not supported. This is caused by calling in-place forward function with a negative"
    " slope, please call out-of-place version instead."
)
_LEAKY_ISSUE = (
    " File an issue at https://github.com/pytorch/pytorch if you do require supporting "
    "in-place leakRelu backward calculation with negative slope"
)

# ---- leaky_relu ----


def _leaky_relu(xp: Any, self: Any, negative_slope: float) -> Any:
    check_floating(self, "leaky_relu_cpu")
    found = xp.multiply(self, negative_slope)
    if 0 <= negative_slope <= 1:
        return xp.maximum(self, found)
    return choose(xp, self > 0, self, found)


@hidden_op(
    {
        "self": lambda F, grad, self, negative_slope: F.leaky_relu_backward(
            grad, self, negative_slope, False
        )
    },
    family="elementwise",
)
def leaky_relu(xp: Any, self: Array, negative_slope: float = 0.01) -> Any:
    """Multiply what is negative by a slope."""
    return _leaky_relu(xp, self, negative_slope)


@hidden_op(
    {
        "self": lambda F, grad, result, negative_slope: F.leaky_relu_backward(
            grad, result, negative_slope, True
        )
    },
    name="leaky_relu",
    key="leaky_relu_",
    node="LeakyReluBackward1",
    family="elementwise",
)
def _leaky_relu_in_place(xp: Any, self: Array, negative_slope: float = 0.01) -> Any:
    return _leaky_relu(xp, self, negative_slope)


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


def _elu(xp: Any, self: Any, alpha: float, scale: float, input_scale: float) -> Any:
    check_floating(self, "elu_cpu")
    below = xp.expm1(xp.minimum(self, self.dtype.type(0)) * input_scale)
    below = below * (alpha * scale)
    return choose(xp, self > 0, self * scale if scale != 1 else self, below)


@hidden_op(
    {
        "self": lambda F, grad, self, alpha, scale, input_scale: F.elu_backward(
            grad, self, alpha, scale, input_scale, False
        )
    },
    family="elementwise",
)
def elu(
    xp: Any,
    self: Array,
    alpha: float = 1.0,
    scale: float = 1.0,
    input_scale: float = 1.0,
) -> Any:
    """Bend what is negative to ``alpha * (exp(x) - 1)``."""
    return _elu(xp, self, alpha, scale, input_scale)


@hidden_op(
    {
        "self": lambda F, grad, result, alpha, scale, input_scale: F.elu_backward(
            grad, result, alpha, scale, input_scale, True
        )
    },
    name="elu",
    key="elu_",
    node="EluBackward1",
    family="elementwise",
)
def _elu_in_place(
    xp: Any,
    self: Array,
    alpha: float = 1.0,
    scale: float = 1.0,
    input_scale: float = 1.0,
) -> Any:
    return _elu(xp, self, alpha, scale, input_scale)


def _celu(xp: Any, self: Any, alpha: float) -> Any:
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _elu(xp, self, alpha, 1.0, 1.0 / alpha)


@op(
    {
        "self": lambda F, grad, self, alpha: F.elu_backward(
            grad, self, alpha, 1.0, 1.0 / alpha, False
        )
    },
    method=False,
    family="elementwise",
)
def celu(xp: Any, self: Array, alpha: float = 1.0) -> Any:
    """Bend what is negative to ``alpha * (exp(x / alpha) - 1)``."""
    return _celu(xp, self, alpha)


@hidden_op(
    {
        "self": lambda F, grad, result, alpha: F.elu_backward(
            grad, result, alpha, 1.0, 1.0 / alpha, True
        )
    },
    name="celu",
    key="celu_",
    node="CeluBackward1",
    family="elementwise",
)
def _celu_in_place(xp: Any, self: Array, alpha: float = 1.0) -> Any:
    return _celu(xp, self, alpha)


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
