"""Cross entropy between bits and probabilities, or logits, of bits."""

from __future__ import annotations

from typing import Any

from ..._dispatch.declare import Array
from .._kernels.bitwise_select import check_floating
from .._kernels.softplus import softplus
from .._support.matrix_product import scalar_name
from .._support.operands import hidden_op, no_gradient_of
from .loss import MEAN, _count, check_broadcast, check_written, reduced

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
