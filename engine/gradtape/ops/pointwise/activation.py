"""Smooth activations, relu and threshold: sigmoid, gelu, silu, mish, softplus."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._dispatch.declare import OPS, Array, op, pointwise
from ..._dispatch.inplace import inplace
from ..._dtypes import DTYPE_OF
from ..._graph.output_layout import LARGE
from ..._sparse.array import SparseArray
from ..._tensor.tensor import Tensor
from .._kernels import erf as normal
from .._kernels.bitwise_select import above_zero, check_floating, choose, keep
from .._kernels.cache_blocks import compiled_as, in_blocks, want_blocks
from .._kernels.softplus import log1p_of_small
from .._kernels.softplus import softplus as log_one_plus_exp
from .._kernels.upcast import rounded_once
from .._support.new_tensor import array_like
from .._support.operands import OWN_DTYPE, POINTWISE, hidden_op, kind_of
from .._support.out_argument import with_out
from .._support.reuse_gradient import above_zero_only, alike
from .._support.scalar_range import in_range


@hidden_op(
    {
        "grad_output": lambda F, grad, self, threshold: F.threshold_backward(
            grad, self, threshold
        ),
        "self": lambda F, grad: F.zeros_like(grad),
    },
    promotion="common",
    family="elementwise",
)
def threshold_backward(
    xp: Any, grad_output: Array, self: Array, threshold: float
) -> Any:
    """Let a gradient pass where ``self`` is above the threshold, or NaN."""
    if type(grad_output) is SparseArray:
        passed, self = grad_output.values, self.values_at(grad_output.indices)
        return grad_output.with_values(keep(xp, ~(self <= threshold), passed))
    return keep(xp, ~(self <= threshold), grad_output)


def _check_relu(_name: str, self: Any) -> None:
    if kind_of(self) == "b":
        raise RuntimeError("Boolean inputs not supported for relu")
    if kind_of(self) == "c":
        raise NotImplementedError("clamp is not supported for complex types")


relu = pointwise(
    "relu",
    above_zero,
    {
        "self": lambda F, grad, result: (
            above_zero_only(grad, result)
            if F.owns and alike(grad, result)
            else F.threshold_backward(grad, result, 0)
        )
    },
    check=_check_relu,
    out=False,
)


@op(
    {
        "self": lambda F, grad, self, threshold: F.threshold_backward(
            grad, self, threshold
        )
    },
    **POINTWISE,
)
def threshold(xp: Any, self: Array, threshold: float, value: float) -> Any:
    """Keep what is above the threshold; put ``value`` in the place of the rest."""
    check_floating(self, "threshold_cpu", "bc")
    kind = DTYPE_OF[self.dtype]
    limit, value = (self.dtype.type(in_range(v, kind)) for v in (threshold, value))
    return choose(xp, self <= limit, value, self)


def _sigmoid(xp: Any, self: Any) -> Any:
    if want_blocks(xp, self):
        return in_blocks(xp, _sigmoid_into, xp.empty(self.shape, self.dtype), self)
    found = xp.asarray(xp.negative(self))
    return _over_one_plus_exp(xp, found)


@compiled_as("pointwise.sigmoid")
def _sigmoid_into(xp: Any, found: Any, x: Any) -> None:
    _over_one_plus_exp(xp, xp.negative(x, found))


def _over_one_plus_exp(xp: Any, found: Any) -> Any:
    """Write ``1 / (1 + exp(found))`` over ``found``."""
    xp.exp(found, found)
    found += 1
    if found.dtype.char in "fd":  # NumPy divides twice as fast
        return xp.divide(1, found, found)
    return xp.reciprocal(found, found)


sigmoid = pointwise(
    "sigmoid",
    _sigmoid,
    {
        "self": lambda F, grad, result: (
            in_blocks(np, _times_slope, grad, grad, result)
            if F.owns and want_blocks(np, grad, result)
            else F.sigmoid_backward(grad, result)
        )
    },
    promotion="float",
)


def _sigmoid_backward(xp: Any, grad: Any, output: Any) -> Any:
    kind = output.dtype.kind
    if kind == "c":
        return grad * xp.conj((1 - output) * output)
    if kind == "V":  # half is rounded after every step, bfloat16 is not
        return _in_single(xp, grad, output)
    if want_blocks(xp, output, grad):
        return in_blocks(xp, _times_slope, xp.empty_like(output), grad, output)
    slope = 1 - output
    if output.size < LARGE or grad.shape != output.shape:  # out= slows small ones
        return grad * slope * output
    slope *= grad
    slope *= output
    return slope


_in_single = rounded_once(_sigmoid_backward)


@compiled_as("pointwise.sigmoid_slope", over=True)
def _times_slope(xp: Any, found: Any, grad: Any, output: Any) -> None:
    """Multiply a gradient by the slope of sigmoid; ``found`` may be the gradient."""
    slope = xp.subtract(1, output)
    slope *= grad
    xp.multiply(slope, output, found)


pointwise(
    "sigmoid_backward",
    _sigmoid_backward,
    {
        "self": lambda F, grad, other: F.sigmoid_backward(grad, F.conj(other)),
        "other": lambda F, grad, self, other: (
            F.conj(grad) * self * (1 - 2 * F.conj(other))
        ),
    },
    arity=2,
    method=False,
    function=False,
    out=False,
)

inplace("relu", "sigmoid", "threshold")


_ROOT_HALF = math.sqrt(0.5)
_INV_ROOT_TAU = 1 / math.sqrt(2 * math.pi)
_TANH_INNER = math.sqrt(2 / math.pi)
_TANH_CUBIC = 0.044715


def smooth_step(xp: Any, x: Any) -> Any:
    """Return 1 / (1 + exp(-x)), in one buffer."""
    found = array_like(xp, x)
    xp.negative(x, found)
    xp.exp(found, found)
    found += 1
    if found.dtype.char in "fd":  # NumPy divides twice as fast
        return xp.divide(1, found, found)
    return xp.reciprocal(found, found)


# ---- gelu ----


def _normal_cdf(xp: Any, x: Any) -> Any:
    return 0.5 * (1 + OPS["erf"].kernel(xp, x * _ROOT_HALF))


def _tanh_argument(x: Any) -> Any:
    return _TANH_INNER * (x + _TANH_CUBIC * x * x * x)


def _serve(grad: Any, x: Any) -> bool:
    return normal.serves(x) and normal.serves(grad, x.shape)


@hidden_op(
    {
        "self": lambda F, grad, self, approximate: (
            normal.gelu_backward(np, grad, self, grad)
            if F.owns and approximate == "none" and _serve(grad, self)
            else F.gelu_backward(grad, self, approximate)
        )
    },
    out=True,
    out_rule=OWN_DTYPE,
    family="elementwise",
)
def gelu(xp: Any, self: Array, *, approximate: str = "none") -> Any:
    """Multiply by the chance that a normal number is smaller."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    check_floating(self, "GeluKernelImpl")
    if approximate == "tanh":
        return 0.5 * self * (1 + xp.tanh(_tanh_argument(self)))
    if normal.serves(self):
        return normal.gelu(xp, self)
    return self * _normal_cdf(xp, self)


def _gelu_curvature(F: Any, grad: Any, x: Any, approximate: str) -> Any:
    if approximate == "none":
        return grad * F.exp(x * x * -0.5) * (2 - x * x) * _INV_ROOT_TAU
    tanh = F.tanh(_tanh_argument(x))
    slope = _TANH_INNER * (1 + 3 * _TANH_CUBIC * x * x)
    bend = _TANH_INNER * 6 * _TANH_CUBIC * x
    sech2 = 1 - tanh * tanh
    return grad * sech2 * (slope + x * bend * 0.5 - x * tanh * slope * slope)


@hidden_op(
    {
        "grad_output": lambda F, grad, self, approximate: F.gelu_backward(
            grad, self, approximate
        ),
        "self": lambda F, grad, grad_output, self, approximate: _gelu_curvature(
            F, grad * grad_output, self, approximate
        ),
    },
    family="elementwise",
)
@rounded_once
def gelu_backward(
    xp: Any, grad_output: Array, self: Array, approximate: str = "none"
) -> Any:
    """Multiply the gradient by the slope of gelu."""
    if approximate == "none":
        if _serve(grad_output, self):
            return normal.gelu_backward(xp, grad_output, self)
        density = xp.exp(self * self * -0.5) * _INV_ROOT_TAU
        return grad_output * (_normal_cdf(xp, self) + self * density)
    tanh = xp.tanh(_tanh_argument(self))
    inner = _TANH_INNER * (1 + 3 * _TANH_CUBIC * self * self)
    return grad_output * 0.5 * ((1 + tanh) + self * (1 - tanh * tanh) * inner)


# ---- silu, mish ----


@hidden_op(
    {"self": lambda F, grad, self: F.silu_backward(grad, self)}, family="elementwise"
)
def silu(xp: Any, self: Array) -> Any:
    """Return ``x * sigmoid(x)``."""
    check_floating(self, "silu_cpu", "iub")
    found = smooth_step(xp, self)
    found *= self
    return found


def _silu_curvature(F: Any, grad: Any, x: Any) -> Any:
    s = F.sigmoid(x)
    return grad * s * (1 - s) * (2 + x * (1 - 2 * s))


@hidden_op(
    {
        "grad_output": lambda F, grad, self: F.silu_backward(grad, self),
        "self": lambda F, grad, grad_output, self: _silu_curvature(
            F, grad * grad_output, self
        ),
    },
    family="elementwise",
)
@rounded_once
def silu_backward(xp: Any, grad_output: Array, self: Array) -> Any:
    """Multiply the gradient by the slope of silu."""
    s = smooth_step(xp, self)
    slope = 1 - s
    slope *= self
    slope += 1
    slope *= s
    slope *= grad_output
    return slope


@hidden_op(
    {"self": lambda F, grad, self: F.mish_backward(grad, self)}, family="elementwise"
)
def mish(xp: Any, self: Array) -> Any:
    """Return ``x * tanh(softplus(x))``."""
    check_floating(self, "mish_cpu")
    return self * xp.tanh(log_one_plus_exp(xp, self))


def _mish_curvature(F: Any, grad: Any, x: Any) -> Any:
    s, t = F.sigmoid(x), F.tanh(F.softplus(x))
    return grad * s * (1 - t * t) * (2 + x * (1 - s) - 2 * x * s * t)


@hidden_op(
    {
        "grad_output": lambda F, grad, self: F.mish_backward(grad, self),
        "self": lambda F, grad, grad_output, self: _mish_curvature(
            F, grad * grad_output, self
        ),
    },
    family="elementwise",
)
@rounded_once
def mish_backward(xp: Any, grad_output: Array, self: Array) -> Any:
    """Multiply the gradient by the slope of mish."""
    t = xp.tanh(log_one_plus_exp(xp, self))
    return grad_output * (t + self * smooth_step(xp, self) * (1 - t * t))


# ---- softplus, logsigmoid ----


@hidden_op(
    {
        "self": lambda F, grad, self, beta, threshold: F.softplus_backward(
            grad, self, beta, threshold
        )
    },
    out=True,
    out_rule=OWN_DTYPE,
    family="elementwise",
)
def softplus(xp: Any, self: Array, beta: float = 1, threshold: float = 20) -> Any:
    """Return ``log(1 + exp(beta * x)) / beta``; the identity far to the right."""
    check_floating(self, "softplus_cpu")
    inner = self if beta == 1 else self * beta
    near = log_one_plus_exp(xp, inner)
    if beta != 1:
        near /= beta
    found = array_like(xp, self)
    found[...] = choose(xp, inner > threshold, self, near)
    return found


def _softplus_curvature(F: Any, grad: Any, x: Any, beta: Any, threshold: Any) -> Any:
    s = F.sigmoid(x * beta)
    return grad * s * (1 - s) * beta * (x * beta <= threshold)


@hidden_op(
    {
        "grad_output": lambda F, grad, self, beta, threshold: F.softplus_backward(
            grad, self, beta, threshold
        ),
        "self": lambda F, grad, grad_output, self, beta, threshold: _softplus_curvature(
            F, grad * grad_output, self, beta, threshold
        ),
    },
    family="elementwise",
)
@rounded_once
def softplus_backward(
    xp: Any, grad_output: Array, self: Array, beta: float, threshold: float
) -> Any:
    """Multiply the gradient by the slope of softplus."""
    inner = self if beta == 1 else self * beta
    found = smooth_step(xp, inner)
    found *= grad_output
    return choose(xp, inner > threshold, grad_output, found)


@hidden_op(
    {
        "self": lambda F, grad, self, result1: F.log_sigmoid_backward(
            grad[0], self, result1
        )
    },
    node="LogSigmoidBackward0",
    outputs=2,
    output_names=("output", "buffer"),
    family="upcast",
)
def log_sigmoid_forward(xp: Any, self: Array) -> Any:
    """Return ``log(sigmoid(x))`` without overflow, and ``exp(-|x|)``."""
    check_floating(self, "log_sigmoid_cpu")
    decay = xp.exp(-xp.abs(self))
    found = xp.minimum(self, self.dtype.type(0)) - log1p_of_small(xp, decay)
    return xp.asarray(found, order="C"), xp.asarray(decay, order="C")


@with_out("expected scalar type {result} but found {out}")
def log_sigmoid(input: Tensor) -> Tensor:
    """Return ``log(sigmoid(x))`` without overflow."""
    return log_sigmoid_forward(input)[0]


@hidden_op(
    {
        "grad_output": lambda F, grad, self, buffer: F.log_sigmoid_backward(
            grad, self, buffer
        ),
        "self": lambda F, grad, grad_output, self: (
            -grad * grad_output * F.sigmoid(self) * F.sigmoid(-self)
        ),
    },
    family="elementwise",
)
@rounded_once
def log_sigmoid_backward(
    xp: Any, grad_output: Array, self: Array, buffer: Array
) -> Any:
    """Multiply the gradient by ``sigmoid(-x)``; ``buffer`` is ``exp(-|x|)``."""
    away = buffer / (1 + buffer)  # sigmoid(-|x|)
    return grad_output * choose(xp, self < 0, 1 - away, away)


inplace("silu", "mish")
