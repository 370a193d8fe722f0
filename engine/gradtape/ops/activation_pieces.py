"""Activations made of straight pieces or one curve: elu, hardtanh, shrinks, slopes.

Each derivative is an op of its own (``elu_backward``…), as in PyTorch, so that a
second derivative finds its way.
"""

from __future__ import annotations

from typing import Any

from .._define import Array, op
from .._inplace import inplace
from ._place import array_like
from ._select import check_floating, keep

# ---- leaky_relu ----


def _leaky_relu(xp: Any, self: Any, negative_slope: float) -> Any:
    check_floating(self, "leaky_relu_cpu")
    found = array_like(xp, self)
    xp.multiply(self, negative_slope, found)
    if 0 <= negative_slope <= 1:
        return xp.maximum(self, found, out=found)
    return xp.where(self > 0, self, found)


@op(
    {
        "self": lambda F, grad, self, negative_slope: F.leaky_relu_backward(
            grad, self, negative_slope
        )
    },
    method=False,
    function=False,
)
def leaky_relu(xp: Any, self: Array, negative_slope: float = 0.01) -> Any:
    """Multiply what is negative by a slope."""
    return _leaky_relu(xp, self, negative_slope)


@op(
    {
        "self": lambda F, grad, result, negative_slope: F.leaky_relu_backward(
            grad, result, negative_slope
        )
    },
    name="leaky_relu",
    key="leaky_relu_",
    node="LeakyReluBackward1",
    method=False,
    function=False,
)
def _leaky_relu_in_place(xp: Any, self: Array, negative_slope: float = 0.01) -> Any:
    if negative_slope < 0:
        raise RuntimeError(
            "In-place leakyReLu backward calculation is triggered with a negative "
            "slope which is not supported. This is caused by calling in-place forward "
            "function with a negative slope, please call out-of-place version instead."
        )
    return _leaky_relu(xp, self, negative_slope)


@op(
    {
        "grad_output": lambda F, grad, self, negative_slope: F.leaky_relu_backward(
            grad, self, negative_slope
        )
    },
    method=False,
    function=False,
)
def leaky_relu_backward(
    xp: Any, grad_output: Array, self: Array, negative_slope: float
) -> Any:
    """Multiply the gradient by the slope where the value is not positive."""
    found = array_like(xp, grad_output)
    xp.multiply(grad_output, negative_slope, found)
    xp.copyto(found, grad_output, where=self > 0)
    return found


# ---- elu, selu, celu ----


def _elu(xp: Any, self: Any, alpha: float, scale: float, input_scale: float) -> Any:
    check_floating(self, "elu_cpu")
    below = xp.expm1(xp.minimum(self, self.dtype.type(0)) * input_scale)
    below = below * (alpha * scale)
    return xp.where(self > 0, self * scale if scale != 1 else self, below)


@op(
    {
        "self": lambda F, grad, self, alpha, scale, input_scale: F.elu_backward(
            grad, self, alpha, scale, input_scale, False
        )
    },
    method=False,
    function=False,
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


@op(
    {
        "self": lambda F, grad, result, alpha, scale, input_scale: F.elu_backward(
            grad, result, alpha, scale, input_scale, True
        )
    },
    name="elu",
    key="elu_",
    node="EluBackward1",
    method=False,
    function=False,
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
)
def celu(xp: Any, self: Array, alpha: float = 1.0) -> Any:
    """Bend what is negative to ``alpha * (exp(x / alpha) - 1)``."""
    return _celu(xp, self, alpha)


@op(
    {
        "self": lambda F, grad, result, alpha: F.elu_backward(
            grad, result, alpha, 1.0, 1.0 / alpha, True
        )
    },
    name="celu",
    key="celu_",
    node="CeluBackward1",
    method=False,
    function=False,
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


@op(
    {"grad_output": _elu_outgoing, "self_or_result": _elu_curvature},
    method=False,
    function=False,
)
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
    x, slope = self_or_result, array_like(xp, self_or_result)
    if is_result:
        xp.multiply(x + alpha * scale, input_scale, slope)
    else:
        xp.exp(xp.minimum(x, x.dtype.type(0)) * input_scale, slope)
        slope *= input_scale * alpha * scale
    xp.copyto(slope, scale, where=~(x <= 0))  # NaN included
    slope *= grad_output
    return slope


# ---- hardtanh, hardsigmoid, hardswish: cut on both sides ----


@op(
    {
        "self": lambda F, grad, self, min_val, max_val: F.hardtanh_backward(
            grad, self, min_val, max_val
        )
    },
    method=False,
    function=False,
)
def hardtanh(xp: Any, self: Array, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    """Cut to the range from ``min_val`` to ``max_val``."""
    kind = self.dtype.type
    return xp.minimum(xp.maximum(self, kind(min_val)), kind(max_val))


@op(
    {
        "grad_output": lambda F, grad, self, min_val, max_val: F.hardtanh_backward(
            grad, self, min_val, max_val
        )
    },
    method=False,
    function=False,
)
def hardtanh_backward(
    xp: Any, grad_output: Array, self: Array, min_val: float, max_val: float
) -> Any:
    """Let the gradient through where nothing was cut."""
    return keep(xp, ~((self <= min_val) | (self >= max_val)), grad_output)


@op(
    {
        "self": lambda F, grad, self: F.hardtanh_backward(grad, self, -3.0, 3.0)
        * (1 / 6)
    },
    method=False,
    function=False,
)
def hardsigmoid(xp: Any, self: Array) -> Any:
    """Return ``clamp(x + 3, 0, 6) / 6``."""
    check_floating(self, "hardsigmoid_cpu")
    return xp.clip(self + 3, 0, 6) / 6


@op(
    {"self": lambda F, grad, self: F.hardswish_backward(grad, self)},
    method=False,
    function=False,
)
def hardswish(xp: Any, self: Array) -> Any:
    """Return ``x * clamp(x + 3, 0, 6) / 6``."""
    check_floating(self, "hardswish_cpu")
    return self * xp.clip(self + 3, 0, 6) / 6


@op(
    {
        "grad_output": lambda F, grad, self: F.hardswish_backward(grad, self),
        "self": lambda F, grad, grad_output, self: F.hardtanh_backward(
            grad * grad_output, self, -3.0, 3.0
        )
        * (1 / 3),
    },
    method=False,
    function=False,
)
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


@op({"self": _shrink_derivative})
def hardshrink(xp: Any, self: Array, lambd: float = 0.5) -> Any:
    """Set what is between -lambd and lambd to zero."""
    check_floating(self, "hardshrink_cpu")
    return xp.where((self >= -lambd) & (self <= lambd), self.dtype.type(0), self)


@op({"self": _shrink_derivative}, method=False, function=False)
def softshrink(xp: Any, self: Array, lambd: float = 0.5) -> Any:
    """Move values towards zero by lambd, not past it."""
    if lambd < 0:
        raise RuntimeError(
            f"lambda must be greater or equal to 0, but found to be {lambd:g}."
        )
    check_floating(self, "softshrink_cpu")
    return self - xp.clip(self, -lambd, lambd)


@op(
    {
        "grad_output": lambda F, grad, self, lambd: F.hardshrink_backward(
            grad, self, lambd
        )
    },
    method=False,
    function=False,
)
def hardshrink_backward(xp: Any, grad_output: Array, self: Array, lambd: float) -> Any:
    """Let the gradient through outside of the dead zone."""
    return keep(xp, ~((self >= -lambd) & (self <= lambd)), grad_output)


inplace("leaky_relu_", "elu_", "celu_", "hardtanh", "hardsigmoid", "hardswish")
