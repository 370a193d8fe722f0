"""Losses over classes and over pairs of vectors."""

from __future__ import annotations

from ..._autocast.autocast import autocasts
from ..._tensor.tensor import Tensor
from ...ops._support.arguments import check_tensors
from ...ops.linalg.linear import linear
from ...ops.nn import loss_classes as kernels
from ...ops.pointwise.activation import log_sigmoid
from ...ops.pointwise.scalar import add_number, div_number, mul_number
from ...ops.reduction.softmax import log_softmax
from .loss import legacy_reduction, reduce_losses, reduction_number

__all__ = ["cross_entropy", "linear_cross_entropy", "multi_margin_loss"]
__all__ += ["multilabel_margin_loss", "multilabel_soft_margin_loss", "nll_loss"]


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the mean of the negated values at each sample's class.

    ``input`` holds log-probabilities, (N, C) or (N, C, …); ``target`` class indices.
    """
    check_tensors("nll_loss_nd", input=input, target=target)
    reduction = legacy_reduction(size_average, reduce, reduction)
    number = reduction_number(reduction)
    if input.dim() < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {input.dim()})")
    if input.dim() != 1 and input.shape[0] != (target.shape or (0,))[0]:
        raise ValueError(
            f"Expected input batch_size ({input.shape[0]}) to match target batch_size "
            f"({target.shape[0] if target.dim() else 0})."
        )
    if input.dim() <= 2:
        return kernels.nll_loss(input, target, weight, number, ignore_index)[0]
    if input.dim() == 4:
        return kernels.nll_loss2d(input, target, weight, number, ignore_index)[0]
    return _nll_flat(input, target, weight, number, ignore_index)


def _nll_flat(
    input: Tensor, target: Tensor, weight: Tensor | None, number: int, ignore: int
) -> Tensor:
    """Bring any number of dimensions behind the classes to two."""
    samples, classes, *rest = input.shape
    if tuple(target.shape[1:]) != tuple(rest):
        raise RuntimeError(
            f"Expected target size {[samples, *rest]}, got {list(target.shape)}"
        )
    flat = input.contiguous().view(samples, classes, 1, -1)
    index = target.contiguous().view(samples, 1, -1)
    found = kernels.nll_loss2d(flat, index, weight, number, ignore)[0]
    return found.view((samples, *rest)) if number == 0 else found


@autocasts("cross_entropy_loss")
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Compare logits with class indices, or with probabilities of classes.

    >>> import gradtape as torch
    >>> logits = torch.tensor([[0.0, 0.0]])
    >>> torch.nn.functional.cross_entropy(logits, torch.tensor([1]))
    tensor(0.6931)
    """
    check_tensors("cross_entropy_loss", input=input, target=target)
    reduction = legacy_reduction(size_average, reduce, reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(
            f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}"
        )
    dim = 0 if input.dim() == 1 else 1
    if input.shape == target.shape:
        return _from_probabilities(
            input, target, weight, ignore_index, reduction, label_smoothing, dim
        )
    logs = log_softmax(input, dim)
    if label_smoothing > 0.0:
        return _smoothed(
            logs, target, weight, ignore_index, reduction, label_smoothing, dim
        )
    return nll_loss(
        logs, target, weight, ignore_index=ignore_index, reduction=reduction
    )


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: object = None,
) -> Tensor:
    """Return ``cross_entropy(linear(input, linear_weight, linear_bias), target)``.

    ``linear_weight`` is (C, in) or (C, …, in), for losses at several places. With
    ``options`` PyTorch saves memory; the result is the same without.
    """
    _check_linear(input, linear_weight, linear_bias, target, ignore_index)
    classes, *places = linear_weight.shape[:-1]
    rows = linear_weight.reshape(-1, linear_weight.shape[-1])
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    logits = linear(input, rows, bias)
    return cross_entropy(
        logits.reshape((*input.shape[:-1], classes, *places)),
        target,
        weight=weight,
        reduction=reduction,
        ignore_index=-100 if ignore_index is None else ignore_index,
        label_smoothing=label_smoothing,
    )


def _check_linear(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    target: Tensor,
    ignore_index: int | None,
) -> None:
    fault = ""
    shape, wide = tuple(weight.shape), weight.dim() > 2
    if input.dim() not in (1, 2):
        fault = f"expected input with dimensionality 1 or 2, got {input.dim()}"
    elif weight.dim() < 2:
        fault = (
            f"expected linear_weight with dimensionality at least 2, got {weight.dim()}"
        )
    elif input.shape[-1] != shape[-1]:
        fault = (
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.shape[-1]} and {shape[-1]}, respectively"
        )
    elif wide and input.dim() == 1:
        fault = (
            f"K-dimensional loss defined by linear_weight shape {shape} requires "
            f"batched input, (N, {shape[-1]}), got unbatched input with shape "
            f"{tuple(input.shape)}"
        )
    elif bias is not None and tuple(bias.shape) != shape[:-1]:
        fault = f"expected linear_bias shape {shape[:-1]}, got {tuple(bias.shape)}"
    elif ignore_index is not None and target.dtype.is_floating_point:
        fault = "ignore_index cannot be specified when target contains probabilities"
    if fault:
        raise RuntimeError(fault)


def _from_probabilities(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    smoothing: float,
    dim: int,
) -> Tensor:
    if not target.dtype.is_floating_point:
        raise RuntimeError(
            "Expected floating point type for target with class probabilities, got "
            f"{target.dtype.cpp_name}"
        )
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    logs = log_softmax(input, dim)
    classes = input.shape[dim]
    if smoothing > 0.0:
        target = add_number(mul_number(target, 1 - smoothing), smoothing / classes)
    losses = logs * target
    if weight is not None:
        losses = losses * _along(weight, input.dim(), dim)
    if reduction == "none":
        return -losses.sum(dim)
    total = -losses.sum()
    if reduction == "sum":
        return total
    reduction_number(reduction)
    count = input.numel() // classes if classes else 0
    return div_number(total, count) if count else total * float("nan")


def _along(weight: Tensor, ndim: int, dim: int) -> Tensor:
    shape = [1] * ndim
    shape[dim] = weight.shape[0]
    return weight.view(tuple(shape))


def _smoothed(
    logs: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    smoothing: float,
    dim: int,
) -> Tensor:
    """Mix the loss at the class with the mean loss over all classes."""
    hard = nll_loss(
        logs, target, weight, ignore_index=ignore_index, reduction=reduction
    )
    weighted = logs if weight is None else logs * _along(weight, logs.dim(), dim)
    even = -weighted.sum(dim)
    ignored = target == ignore_index
    even = even.masked_fill(ignored, 0.0)
    if reduction == "sum":
        even = even.sum()
    elif reduction == "mean":
        if weight is not None:
            shares = weight.gather(0, target.masked_fill(ignored, 0).flatten())
            shares = shares.masked_fill(ignored.flatten(), 0.0)
            even = even.sum() / shares.sum()
        else:
            even = even.sum() / (target.numel() - ignored.sum())
    classes = logs.shape[dim]
    return mul_number(hard, 1 - smoothing) + mul_number(even, smoothing / classes)


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Punish classes that come within a margin of the right one; ``p`` is 1 or 2."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    number = reduction_number(reduction)
    return kernels.multi_margin_loss(input, target, p, margin, weight, number)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Compare logits with several labels at once, class by class."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    losses = -(target * log_sigmoid(input) + (1 - target) * log_sigmoid(-input))
    if weight is not None:
        losses = losses * weight
    return reduce_losses(losses.sum(-1) / input.shape[-1], reduction)


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Ask all target classes to lead all others by a margin of 1.

    ``target`` lists classes per sample, ended by -1.
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    return kernels.multilabel_margin_loss(input, target, reduction_number(reduction))[0]
