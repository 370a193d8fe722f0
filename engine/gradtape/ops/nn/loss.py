"""Losses that PyTorch has as ops: mse, smooth l1, huber, cross entropies of bits.

``reduction`` is PyTorch's number for it: 0 none, 1 mean, 2 sum. A loss's derivative is
an op of its own over the same arguments.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._common.messages import BROADCAST_OUTPUT, CAST_REFUSED
from ..._dispatch.declare import Array
from ..._dispatch.operands import broadcast_error
from .._kernels.bitwise_select import check_floating, choose
from .._kernels.softplus import softplus
from .._kernels.upcast import rounded_once
from .._support.matrix_product import scalar_name
from .._support.operands import hidden_op, no_gradient_of
from .._support.reduction import wide

NONE, MEAN, SUM = 0, 1, 2


def reduced(xp: Any, losses: Any, reduction: int) -> Any:
    """Add up or average the losses of the elements."""
    if reduction == NONE:
        return losses
    total = xp.sum(losses, dtype=wide(losses))
    return (total / losses.size if reduction == MEAN else total).astype(losses.dtype)


def check_broadcast(first: Any, second: Any) -> tuple[int, ...]:
    """Return the shape of two operands; refuse those that do not fit together."""
    try:
        return np.broadcast_shapes(first.shape, second.shape)
    except ValueError:
        raise broadcast_error(first.shape, second.shape) from None


def check_written(into: Any, *factors: Any) -> None:
    """Refuse factors that do not fit the memory PyTorch would multiply in place."""
    for each in factors:
        if into.dtype.kind in "iub" and each.dtype.kind not in "iub":
            raise RuntimeError(
                CAST_REFUSED.format(result=scalar_name(each), output=scalar_name(into))
            )
        shape = check_broadcast(into, each)
        if shape != into.shape:
            raise RuntimeError(
                BROADCAST_OUTPUT.format(output=list(into.shape), broadcast=list(shape))
            )


def _share(grad: Any, like: Any, reduction: int) -> Any:
    """Return what part of the gradient each of ``like``'s elements gets."""
    return grad / like.size if reduction == MEAN else grad


def _reduced(F: Any, losses: Any, reduction: int) -> Any:
    if reduction == NONE:
        return losses
    return F.mean(losses) if reduction == MEAN else F.sum(losses)


def _count(F: Any, tensor: Any) -> int:
    return tensor.size if F.raw else tensor.numel()


# ---- mean squared error ----


def _mse_derivative(
    F: Any, grad: Any, self: Any, target: Any, reduction: int, needs: Any
) -> Any:
    into_self = F.mse_loss_backward(grad, self, target, reduction)
    return into_self, -into_self if needs[1] else None


@hidden_op({("self", "target"): _mse_derivative})
def mse_loss(xp: Any, self: Array, target: Array, reduction: int = MEAN) -> Any:
    """Square the differences."""
    if self.dtype.kind == "b":  # which has no difference
        check_floating(self, "mse_cpu")
    difference = xp.asarray(xp.subtract(self, target))
    check_floating(difference, "mse_cpu")
    if reduction == NONE:
        return xp.multiply(difference, difference, difference)
    flat = difference.reshape(-1)
    total = xp.dot(flat, flat)
    return total / flat.size if reduction == MEAN else total


@hidden_op(
    {
        "grad_output": lambda F, grad, self, target, reduction: _reduced_grad(
            F, grad * (self - target) * 2, reduction
        ),
        ("self", "target"): lambda F, grad, grad_output, self, reduction: (
            _mse_curvature(F, grad * grad_output, self, reduction)
        ),
    }
)
def mse_loss_backward(
    xp: Any, grad_output: Array, self: Array, target: Array, reduction: int
) -> Any:
    """Multiply the gradient by twice the difference."""
    found = xp.asarray(xp.subtract(self, target))
    factor = 2 / found.size if reduction == MEAN and found.size else 2
    return xp.multiply(found, grad_output * found.dtype.type(factor), found)


def _reduced_grad(F: Any, found: Any, reduction: int) -> Any:
    return _reduced(F, found, reduction)


def _mse_curvature(F: Any, grad: Any, self: Any, reduction: int) -> Any:
    found = grad * (2 / _count(F, self) if reduction == MEAN else 2)
    return found, -found


# ---- smooth l1 and huber: squares near zero, lines beyond ----


def _smooth_derivative(
    F: Any, grad: Any, self: Any, target: Any, reduction: int, beta: float, needs: Any
) -> Any:
    into_self = F.smooth_l1_loss_backward(grad, self, target, reduction, beta)
    return into_self, -into_self if needs[1] else None


@hidden_op({("self", "target"): _smooth_derivative}, node="SmoothL1LossBackward0")
def smooth_l1_loss(
    xp: Any, self: Array, target: Array, reduction: int = MEAN, beta: float = 1.0
) -> Any:
    """Square differences below beta, take larger ones as they are."""
    check_floating(self, "smooth_l1_cpu")
    size = xp.abs(xp.subtract(self, target))
    near = size * size * (0.5 / beta)
    return reduced(xp, choose(xp, size < beta, near, size - 0.5 * beta), reduction)


def _smooth_curvature(
    F: Any, grad: Any, self: Any, target: Any, reduction: int, beta: float
) -> Any:
    near = F.abs(self - target) < beta
    found = grad * near * (1 / beta)
    if reduction == MEAN:
        found = found / _count(F, self)
    return found, -found


@hidden_op(
    {
        "grad_output": lambda F, grad, self, target, reduction, beta: _reduced(
            F, grad * F._clamp_numbers((self - target) / beta, -1.0, 1.0), reduction
        ),
        (
            "self",
            "target",
        ): lambda F, grad, grad_output, self, target, reduction, beta: (
            _smooth_curvature(F, grad * grad_output, self, target, reduction, beta)
        ),
    }
)
@rounded_once
def smooth_l1_loss_backward(
    xp: Any, grad_output: Array, self: Array, target: Array, reduction: int, beta: float
) -> Any:
    """Multiply the gradient by the cut difference."""
    found = xp.clip(xp.subtract(self, target) / beta, -1, 1)
    return found * _share(grad_output, found, reduction)


def _huber_derivative(
    F: Any, grad: Any, self: Any, target: Any, reduction: int, delta: float, needs: Any
) -> Any:
    into_self = F.huber_loss_backward(grad, self, target, reduction, delta)
    return into_self, -into_self if needs[1] else None


@hidden_op({("self", "target"): _huber_derivative})
def huber_loss(
    xp: Any, self: Array, target: Array, reduction: int = MEAN, delta: float = 1.0
) -> Any:
    """Square differences below delta, take larger ones times delta."""
    check_written(self, target)
    check_floating(self, "huber_cpu")
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    size = xp.abs(xp.subtract(self, target))
    near = size * size * 0.5
    losses = choose(xp, size <= delta, near, delta * (size - 0.5 * delta))
    return reduced(xp, losses.astype(self.dtype, copy=False), reduction)


@hidden_op(
    {
        "grad_output": lambda F, grad, self, target, reduction, delta: _reduced(
            F, grad * F._clamp_numbers(self - target, -delta, delta), reduction
        ),
        (
            "self",
            "target",
        ): lambda F, grad, grad_output, self, target, reduction, delta: (
            _smooth_curvature(
                F, grad * grad_output * delta, self, target, reduction, delta
            )
        ),
    }
)
def huber_loss_backward(
    xp: Any,
    grad_output: Array,
    self: Array,
    target: Array,
    reduction: int,
    delta: float,
) -> Any:
    """Multiply the gradient by the cut difference."""
    found = xp.clip(xp.subtract(self, target), -delta, delta)
    return found * _share(grad_output, found, reduction)


# ---- soft margin ----


@hidden_op(
    {
        "self": lambda F, grad, self, target, reduction: _soft_margin_derivative(
            F, grad, self, target, reduction
        )
    }
)
def soft_margin_loss(xp: Any, self: Array, target: Array, reduction: int = MEAN) -> Any:
    """Return ``log(1 + exp(-target * self))``."""
    check_written(self, target)
    losses = xp.log1p(xp.exp(-(target * self)))
    return reduced(xp, losses.astype(self.dtype, copy=False), reduction)


def _soft_margin_derivative(
    F: Any, grad: Any, self: Any, target: Any, reduction: int
) -> Any:
    found = -(target * F.sigmoid(-(target * self))) * grad
    return found / _count(F, self) if reduction == MEAN else found


_EPSILON = 1e-12


def _bce_derivative(
    F: Any, grad: Any, self: Any, target: Any, weight: Any, reduction: int, needs: Any
) -> Any:
    into_self = into_target = None
    if needs[0]:
        into_self = F.binary_cross_entropy_backward(
            grad, self, target, weight, reduction
        )
    if needs[1]:
        into_target = grad * (F.log(1 - self) - F.log(self))
        into_target = _weighted(F, into_target, self, weight, reduction)
    return into_self, into_target


def _weighted(F: Any, found: Any, self: Any, weight: Any, reduction: int) -> Any:
    if weight is not None:
        found = found * weight
    return found / _count(F, self) if reduction == MEAN else found


@hidden_op(
    {("self", "target"): _bce_derivative},
    check=no_gradient_of("binary_cross_entropy", weight=2),
)
def binary_cross_entropy(
    xp: Any,
    self: Array,
    target: Array,
    weight: Array | None = None,
    reduction: int = MEAN,
) -> Any:
    """Compare probabilities with bits; logarithms are cut at -100.

    Raises RuntimeError for probabilities outside [0, 1].
    """
    check_floating(self, "binary_cross_entropy")
    if self.dtype != target.dtype:
        raise RuntimeError(
            f"Found dtype {scalar_name(target)} but expected {scalar_name(self)}"
        )
    if self.size and not bool(((self >= 0) & (self <= 1)).all()):
        raise RuntimeError("all elements of input should be between 0 and 1")
    on = xp.maximum(xp.log(self), self.dtype.type(-100))
    off = xp.maximum(xp.log1p(-self), self.dtype.type(-100))
    losses = (target - 1) * off - target * on
    if weight is not None:
        losses *= weight
    return reduced(xp, losses, reduction)


def _bce_curvature(
    F: Any,
    grad: Any,
    grad_output: Any,
    self: Any,
    target: Any,
    weight: Any,
    reduction: int,
    needs: Any,
) -> Any:
    spread = self - self * self
    slope = (self - target) / spread
    each = [None, None, None]
    if needs[0]:
        each[0] = _weighted(F, grad * slope, self, weight, reduction)
    outer = _weighted(F, grad * grad_output, self, weight, reduction)
    if needs[1]:
        bend = (1 - slope * (1 - 2 * self)) / spread
        each[1] = outer * bend
    if needs[2]:
        each[2] = -outer / spread
    return tuple(each)


@hidden_op({("grad_output", "self", "target"): _bce_curvature})
def binary_cross_entropy_backward(
    xp: Any,
    grad_output: Array,
    self: Array,
    target: Array,
    weight: Array | None,
    reduction: int,
) -> Any:
    """Multiply the gradient by ``(p - t) / (p (1 - p))``."""
    spread = xp.maximum((1 - self) * self, self.dtype.type(_EPSILON))
    found = grad_output * (self - target) / spread
    if weight is not None:
        found *= weight
    return found / self.size if reduction == MEAN else found


# ---- from logits ----


def _logits_derivative(
    F: Any,
    grad: Any,
    self: Any,
    target: Any,
    weight: Any,
    pos_weight: Any,
    reduction: int,
    needs: Any,
) -> Any:
    each: list[Any] = [None, None]
    if needs[0]:
        s = F.sigmoid(self)
        if pos_weight is None:
            slope = s - target
        else:
            up = pos_weight * target
            slope = (up + 1 - target) * s - up
        each[0] = _weighted(F, slope * grad, self, weight, reduction)
    if needs[1]:
        if pos_weight is None:
            slope = -self
        else:
            on, off = (F.log_sigmoid_forward(x)[0] for x in (self, -self))
            slope = off - pos_weight * on
        each[1] = _weighted(F, slope * grad, self, weight, reduction)
    return tuple(each)


@hidden_op(
    {("self", "target"): _logits_derivative},
    check=no_gradient_of("binary_cross_entropy_with_logits", weight=2, pos_weight=3),
)
def binary_cross_entropy_with_logits(
    xp: Any,
    self: Array,
    target: Array,
    weight: Array | None = None,
    pos_weight: Array | None = None,
    reduction: int = MEAN,
) -> Any:
    """Compare logits with bits, without overflow."""
    check_written(target, self)
    check_floating(self, "log_sigmoid_cpu")
    if pos_weight is not None:
        check_broadcast(pos_weight, target)
        check_written(self, pos_weight)
    if weight is not None:
        check_written(self, weight)
    log_off = softplus(xp, self)  # -log(1 - sigmoid)
    if pos_weight is None:
        losses = log_off - self * target
    else:
        share = (pos_weight - 1) * target + 1
        losses = (1 - target) * self + share * (log_off - self)
    if weight is not None:
        losses = losses * weight
    return reduced(xp, losses.astype(target.dtype, copy=False), reduction)
