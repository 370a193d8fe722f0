"""Negative log likelihood of class indices, and the margin losses over classes."""

from __future__ import annotations

from typing import Any

from ..._dispatch.declare import Array
from ..._dtypes import DTYPE_OF, int64, uint8
from .._kernels.bitwise_select import check_floating, check_wide
from .._support.matrix_product import scalar_name
from .._support.operands import UNDERIVED, hidden_op, no_gradient_of, underived
from .._support.reduction import wide
from .._support.signed import renamed
from .loss import MEAN, NONE, reduced


def _check(self: Any, target: Any, weight: Any, ignore_index: int) -> bool:
    """Refuse what does not fit; tell whether every sample counts for sure."""
    classes = self.shape[1 if self.ndim > 1 else 0]
    _check_target(self, target)
    if weight is not None and (weight.ndim != 1 or weight.size != classes):
        raise RuntimeError(
            "weight tensor should be defined either for all "
            f"{classes} classes or no classes but got weight tensor of shape: "
            f"{list(weight.shape)}"
        )
    if not target.size or (target.min() >= 0 and target.max() < classes):
        return not 0 <= ignore_index < classes
    bad = (target != ignore_index) & ((target < 0) | (target >= classes))
    if bad.any():
        raise IndexError(f"Target {int(target[bad].flat[0])} is out of bounds.")
    return False


def _check_target(self: Any, target: Any) -> None:
    """Refuse targets of another size or dtype than the input asks for."""
    shape, wanted = target.shape, self.shape[:1] + self.shape[2:]
    if self.ndim > 1 and shape[:1] != wanted[:1]:
        raise ValueError(
            f"Expected input batch_size ({wanted[0]}) to match target batch_size "
            f"({shape[0] if shape else 0})."
        )
    if self.ndim == 2 and len(shape) > 1:
        raise RuntimeError(
            "0D or 1D target tensor expected, multi-target not supported"
        )
    if self.ndim > 2 and len(shape) != 3:
        raise RuntimeError(
            "only batches of spatial targets supported (3D tensors) but got targets of "
            f"dimension: {len(shape)}"
        )
    if self.ndim > 2 and shape != wanted:
        raise RuntimeError(
            f"size mismatch (got input: {list(self.shape)} , target: {list(shape)}"
        )
    kind = DTYPE_OF[target.dtype]
    if kind not in (int64, uint8):
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {kind.cpp_name}"
        )
    if self.ndim == 1 and len(shape) == 1 and shape[0] != 1:
        raise ValueError(
            f"For 1D input, 1D target must have size 1, but got target size: {shape[0]}"
        )
    if self.ndim > 2:
        _check_long(target)


def _check_long(target: Any) -> None:
    kind = DTYPE_OF[target.dtype]
    if kind is not int64:
        raise RuntimeError(f"expected scalar type Long but found {kind.cpp_name}")


def _classes_last(xp: Any, self: Any) -> Any:
    """Return the input as (…, classes), whatever dimensions lie behind the classes."""
    return xp.moveaxis(self, 1, -1) if self.ndim > 2 else self


def _at_classes(xp: Any, rows: Any, index: Any) -> Any:
    """Return the indices of each sample's own class in (…, classes)."""
    if rows.ndim == 1:
        return (index,)
    if rows.ndim == 2:
        return xp.arange(index.size), index
    return (*xp.indices(index.shape, sparse=True), index)


def _shares(xp: Any, target: Any, weight: Any, ignore_index: int, dtype: Any) -> Any:
    """Return the weight of each sample and the class to read for it."""
    counted = target != ignore_index
    index = target * counted
    if weight is None:
        return counted.astype(dtype), index
    return weight[index] * counted, index


def _derivative(
    F: Any,
    grad: Any,
    self: Any,
    target: Any,
    weight: Any,
    result1: Any,
    reduction: int,
    ignore_index: int,
) -> Any:
    return F.nll_loss_backward(
        grad[0], self, target, weight, reduction, ignore_index, result1
    )


def _check_weight(self: Any, weight: Any) -> None:
    """Refuse weights of another dtype than what they weigh."""
    if weight is not None and weight.dtype != self.dtype:
        raise RuntimeError(
            f"expected scalar type {scalar_name(self)} but found {scalar_name(weight)}"
        )


def _nll_loss(
    xp: Any, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int
) -> tuple[Any, Any]:
    all_count = _check(self, target, weight, ignore_index)
    if all_count and weight is None and reduction != NONE and target.size:
        rows = _classes_last(xp, self)
        total = self.dtype.type(target.size)
        found = -rows[_at_classes(xp, rows, target)].sum(dtype=wide(self))
        found = found / total if reduction == MEAN else found
        return found.astype(self.dtype), total
    _check_weight(self, weight)
    shares, index = _shares(xp, target, weight, ignore_index, self.dtype)
    rows = _classes_last(xp, self)
    picked = rows[_at_classes(xp, rows, index)]
    losses = xp.asarray(-picked * shares, order="C")
    losses = xp.where(shares == 0, losses.dtype.type(0), losses)
    total = shares.sum(dtype=wide(self))
    if reduction == NONE:
        return losses, xp.zeros((), self.dtype)
    found = losses.sum(dtype=wide(self))
    found = found / total if reduction == MEAN else found
    return found.astype(self.dtype), total.astype(self.dtype)


def _nll(name: str, node: str, kernel: str) -> Any:
    """Declare the loss for samples, or for pixels of images."""

    @hidden_op(
        {"self": _derivative},
        node=node,
        check=no_gradient_of(f"{name}_forward", weight=2),
        outputs=2,
        output_names=("output", "total_weight"),
    )
    @renamed(name, "Pick each value at its class; return loss and total weight.")
    def loss(
        xp: Any,
        self: Array,
        target: Array,
        weight: Array | None = None,
        reduction: int = MEAN,
        ignore_index: int = -100,
    ) -> Any:
        check_floating(self, kernel)
        return _nll_loss(xp, self, target, weight, reduction, ignore_index)

    return loss


nll_loss = _nll("nll_loss", "NllLossBackward0", "nll_loss_out_frame")
nll_loss2d = _nll("nll_loss2d", "NllLoss2DBackward0", "nll_loss2d_forward_out_frame")


@hidden_op(
    {
        "grad_output": lambda F, grad, target, weight, reduction, ignore_index: (
            F.nll_loss(grad, target, weight, reduction, ignore_index)[0]
        ),
        "self": lambda F, grad: F.zeros_like(grad),
    }
)
def nll_loss_backward(
    xp: Any,
    grad_output: Array,
    self: Array,
    target: Array,
    weight: Array | None,
    reduction: int,
    ignore_index: int,
    total_weight: Array,
) -> Any:
    """Put each sample's share of the gradient at its class."""
    shares, index = _shares(xp, target, weight, ignore_index, self.dtype)
    scale = grad_output / total_weight if reduction == MEAN else grad_output
    values = xp.where(shares == 0, self.dtype.type(0), -shares * scale)
    found = xp.zeros(self.shape, self.dtype)
    rows = _classes_last(xp, found)
    rows[_at_classes(xp, rows, index)] = values
    return found


# ---- margins ----


def _check_rows(self: Any) -> None:
    if self.ndim > 2 or 0 in self.shape[-1:]:
        raise RuntimeError(
            "Expected non-empty vector or matrix with optional 0-dim batch size, but "
            f"got: {list(self.shape)}"
        )


def _margins(
    xp: Any, self: Any, target: Any, margin: float, weight: Any
) -> tuple[Any, Any, Any]:
    _check_rows(self)
    rows = self.reshape(1, -1) if self.ndim < 2 else self
    if target.ndim > 1 or target.size != rows.shape[0]:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the "
            "number of input samples (batch size). Expected target size "
            f"[{rows.shape[0]}], but got {list(target.shape)}. Input has shape "
            f"{list(self.shape)}."
        )
    if weight is not None and weight.size != rows.shape[1]:
        raise RuntimeError(
            f"inconsistent weight size, expected {rows.shape[1]} but got "
            f"{list(weight.shape)}"
        )
    _check_long(target)
    if ((target < 0) | (target >= rows.shape[1])).any():
        raise RuntimeError("target out of range")
    _check_weight(self, weight)
    index = target.reshape(-1, 1)
    own = xp.take_along_axis(rows, index, 1)
    gap = xp.maximum(margin - own + rows, 0)
    xp.put_along_axis(gap, index, 0, 1)
    return rows, index, gap


@hidden_op(
    {
        "self": lambda F, grad, self, target, p, margin, weight, reduction: (
            F._multi_margin_loss_backward(
                grad, self, target, p, margin, weight, reduction
            )
        )
    }
)
def multi_margin_loss(
    xp: Any,
    self: Array,
    target: Array,
    p: int = 1,
    margin: float = 1.0,
    weight: Array | None = None,
    reduction: int = MEAN,
) -> Any:
    """Punish classes that come within a margin of the right one."""
    check_wide(self, "multi_margin_loss_cpu_kernel")
    rows, index, gap = _margins(xp, self, target, margin, weight)
    losses = gap if p == 1 else gap * gap
    if weight is not None:
        losses = losses * weight[index]
    each = losses.sum(1) / rows.shape[1]
    return reduced(xp, each if target.ndim else each[0], reduction)


@hidden_op(
    underived("multi_margin_loss_backward", "grad_output", "self", "weight"),
    node=UNDERIVED,
)
def _multi_margin_loss_backward(
    xp: Any,
    grad_output: Array,
    self: Array,
    target: Array,
    p: int,
    margin: float,
    weight: Array | None,
    reduction: int,
) -> Any:
    """Pull the right class up and those within the margin down."""
    rows, index, gap = _margins(xp, self, target, margin, weight)
    slope = (gap > 0).astype(self.dtype) if p == 1 else 2 * gap
    if weight is not None:
        slope = slope * weight[index]
    xp.put_along_axis(slope, index, -slope.sum(1, keepdims=True), 1)
    slope /= rows.shape[1]
    if reduction == MEAN:
        slope /= rows.shape[0]
    scale = grad_output.reshape(-1, 1) if reduction == NONE else grad_output
    return (slope * scale).reshape(self.shape)


def _labels(xp: Any, self: Any, target: Any) -> tuple[Any, Any, Any]:
    """Return rows, the labels before the first -1, and the set of them."""
    _check_rows(self)
    rows = self.reshape(1, -1) if self.ndim < 2 else self
    if target.shape != self.shape and (self.ndim or target.size != 1):
        raise RuntimeError(
            f"inconsistent target size: {list(target.shape)} for input of size: "
            f"{list(self.shape)}"
        )
    _check_long(target)
    if ((target < -1) | (target >= rows.shape[1])).any():
        raise RuntimeError("argument #2 'target' is out of range")
    listed = target.reshape(rows.shape)
    counted = xp.logical_and.accumulate(listed >= 0, axis=1)
    chosen = xp.zeros(rows.shape, self.dtype)
    sample, place = xp.nonzero(counted)
    chosen[sample, listed[sample, place]] = 1
    return rows, xp.where(counted, listed, -1), chosen


@hidden_op(
    {
        "self": lambda F, grad, self, target, reduction, result1: (
            F._multilabel_margin_loss_backward(
                grad[0], self, target, reduction, result1
            )
        )
    },
    outputs=2,
    output_names=("output", "is_target"),
)
def multilabel_margin_loss(
    xp: Any, self: Array, target: Array, reduction: int = MEAN
) -> Any:
    """Punish classes that come within 1 of a target class; return loss and targets."""
    check_wide(self, "multilabel_margin_loss_forward_out_frame")
    rows, listed, chosen = _labels(xp, self, target)
    losses = xp.zeros(rows.shape[0], self.dtype)
    for place in range(rows.shape[1]):
        index = listed[:, place]
        own = xp.take_along_axis(rows, xp.maximum(index, 0)[:, None], 1)
        gap = xp.maximum(1 - own + rows, 0) * (1 - chosen)
        losses += gap.sum(1) * (index >= 0)
    losses /= rows.shape[1]
    return reduced(xp, losses if self.ndim > 1 else losses[0], reduction), chosen


@hidden_op(
    underived("multilabel_margin_loss_backward", "grad_output", "self"), node=UNDERIVED
)
def _multilabel_margin_loss_backward(
    xp: Any,
    grad_output: Array,
    self: Array,
    target: Array,
    reduction: int,
    is_target: Array,
) -> Any:
    """Pull target classes up and those within 1 of them down."""
    rows, listed, _ = _labels(xp, self, target)
    chosen = is_target.reshape(rows.shape)
    slope = xp.zeros(rows.shape, self.dtype)
    for place in range(rows.shape[1]):
        index = xp.maximum(listed[:, place], 0)[:, None]
        own = xp.take_along_axis(rows, index, 1)
        inside = (
            (1 - own + rows > 0) * (1 - chosen) * (listed[:, place : place + 1] >= 0)
        )
        slope += inside
        sums = xp.take_along_axis(slope, index, 1) - inside.sum(1, keepdims=True)
        xp.put_along_axis(slope, index, sums, 1)
    slope /= rows.shape[1]
    if reduction == MEAN:
        slope /= rows.shape[0]
    scale = grad_output.reshape(-1, 1) if reduction == NONE else grad_output
    return (slope * scale).reshape(self.shape)
