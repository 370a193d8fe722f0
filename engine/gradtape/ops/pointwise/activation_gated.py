"""Activations that multiply by a gate, a weight or a drawn slope: glu, prelu, rrelu."""

from __future__ import annotations

from typing import Any

from ..._dispatch.declare import Array
from ..._dispatch.inplace import inplace
from ..._storage.result_strides import laid_out
from .._kernels.bitwise_select import check_floating, choose
from .._kernels.upcast import rounded_once
from .._support.new_tensor import row_major
from .._support.operands import hidden_op
from .activation import smooth_step


def _halves(F: Any, tensor: Any, dim: int) -> tuple[Any, Any]:
    size = tensor.shape[dim] // 2
    first = F.slice(tensor, dim, 0, size, 1)
    return first, F.slice(tensor, dim, size, 2 * size, 1)


@hidden_op(
    {"self": lambda F, grad, self, dim: F.glu_backward(grad, self, dim)},
    family="upcast",
)
def glu(xp: Any, self: Array, dim: int = -1) -> Any:
    """Multiply one half along a dimension by the sigmoid of the other."""
    check_floating(self, "glu_cpu")
    if self.ndim == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    size = self.shape[dim]
    if size % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {dim % self.ndim} is size "
            f"{size}"
        )
    value, gate = xp.split(self, 2, axis=dim)
    found = value * smooth_step(xp, gate)
    if self.flags.c_contiguous and 1 not in found.shape:  # so are the rows of both
        return found
    return laid_out(xp, found, (value, gate))


def _glu_slope(F: Any, grad: Any, self: Any, dim: int) -> Any:
    (into_value, into_gate), (value, gate) = (_halves(F, t, dim) for t in (grad, self))
    s = F.sigmoid(gate)
    return into_value * s + into_gate * value * s * (1 - s)


def _glu_curvature(F: Any, grad: Any, grad_output: Any, self: Any, dim: int) -> Any:
    (into_value, into_gate), (value, gate) = (_halves(F, t, dim) for t in (grad, self))
    s = F.sigmoid(gate)
    slope = grad_output * s * (1 - s)
    bend = into_value + into_gate * value * (1 - 2 * s)
    return F.cat([into_gate * slope, bend * slope], dim)


_rounded_step = rounded_once(smooth_step)


@hidden_op({"grad_output": _glu_slope, "self": _glu_curvature}, family="upcast")
def glu_backward(xp: Any, grad_output: Array, self: Array, dim: int) -> Any:
    """Share the gradient out to the half that was gated and to the gate."""
    value, gate = xp.split(self, 2, axis=dim)
    s = _rounded_step(xp, gate)
    into_gate = _into_gate(xp, s, value, grad_output)
    return row_major(xp, xp.concatenate([grad_output * s, into_gate], dim))


@rounded_once
def _into_gate(xp: Any, s: Any, value: Any, grad: Any) -> Any:
    return (1 - s) * s * value * grad


@hidden_op(
    {
        ("self", "weight"): lambda F, grad, self, weight: F._prelu_kernel_backward(
            grad, self, weight
        )
    },
    node="PreluKernelBackward0",
    family="upcast",
)
def _prelu_kernel(xp: Any, self: Array, weight: Array) -> Any:
    """Multiply what is negative by a weight that has the input's rank."""
    check_floating(self, "prelu_cpu")
    return choose(xp, self > 0, self, weight * self)


def _prelu_curvature(
    F: Any, grad: Any, grad_output: Any, self: Any, weight: Any
) -> Any:
    """Return slopes of zero too, rather than none: PyTorch's have a history."""
    into_self, into_weight = grad
    into_grad, bend, tilt = None, F.zeros_like(self), F.zeros_like(weight)
    if into_self is not None:
        into_grad = F.where(self >= 0, into_self, into_self * weight)
        tilt = F.where(self >= 0, 0.0, grad_output * into_self)
    if into_weight is not None:
        part = F.where(self >= 0, 0.0, into_weight * self)
        into_grad = part if into_grad is None else into_grad + part
        bend = F.where(self >= 0, 0.0, grad_output * into_weight)
    return into_grad, bend, tilt


@hidden_op(
    {("grad_output", "self", "weight"): _prelu_curvature},
    node="PreluKernelBackwardBackward0",
    outputs=2,
    differentiable=(0, 1),
    family="upcast",
)
def _prelu_kernel_backward(
    xp: Any, grad_output: Array, self: Array, weight: Array
) -> Any:
    """Return what goes to the input, and to the weight of each element."""
    up = self > 0
    into_self = choose(xp, up, grad_output, weight * grad_output)
    return into_self, choose(xp, up, grad_output * 0, self * grad_output)


def _rrelu_in_place_derivative(
    F: Any, grad: Any, noise: Any, result: Any, lower: Any, upper: Any, training: Any
) -> Any:
    """Use the noise in training; else the mean slope, told from the result's sign."""
    if training:
        return grad * noise
    return F.leaky_relu_backward(grad, result, (lower + upper) / 2, True)


@hidden_op(
    {
        "self": lambda F, grad, self, noise: F.rrelu_with_noise_backward(
            grad, self, noise
        )
    },
    family="upcast",
)
def rrelu_with_noise(
    xp: Any,
    self: Array,
    noise: Array,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
) -> Any:
    """Multiply by slopes that were drawn where the input is negative, 1 elsewhere."""
    kernel = "rrelu_with_noise_out_cpu" if training else "leaky_relu_cpu"
    check_floating(self, kernel)
    return row_major(xp, self * noise)


@hidden_op(
    {
        "grad_output": lambda F, grad, self, noise: F.rrelu_with_noise_backward(
            grad, self, noise
        ),
        "self": lambda F, self: F.zeros_like(self),
    },
    family="upcast",
)
def rrelu_with_noise_backward(
    xp: Any, grad_output: Array, self: Array, noise: Array
) -> Any:
    """Multiply by the slopes that the input met."""
    return grad_output * noise


@hidden_op(
    {"self": _rrelu_in_place_derivative},
    name="rrelu_with_noise",
    key="rrelu_with_noise_",
    node="RreluWithNoiseBackward1",
    family="upcast",
)
def _rrelu_in_place(
    xp: Any,
    self: Array,
    noise: Array,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
) -> Any:
    return self * noise


inplace("rrelu_with_noise_")
