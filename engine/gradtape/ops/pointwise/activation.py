"""relu, sigmoid and threshold. What only networks use lives in ``nn``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._dispatch.declare import Array, op, pointwise
from ..._dispatch.inplace import inplace
from ..._dtypes import DTYPE_OF
from ..._graph.output_layout import LARGE
from ..._sparse.array import SparseArray
from .._kernels.bitwise_select import above_zero, check_floating, choose, keep
from .._kernels.cache_blocks import compiled_as, in_blocks, want_blocks
from .._kernels.upcast import rounded_once
from .._support.operands import POINTWISE, hidden_op, kind_of
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
