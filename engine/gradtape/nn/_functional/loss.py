"""Losses as functions: regression, bits and divergences."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ..._autocast.autocast import autocasts
from ..._common.site import user_stacklevel
from ..._dispatch.declare import FUNCTIONS
from ..._modes.grad_mode import no_grad
from ..._tensor.tensor import Tensor
from ...ops._support.arguments import check_tensors
from ...ops.nn import loss as kernels
from ...ops.pointwise.scalar import add_number
from .._reduction import get_enum as reduction_number
from .._reduction import legacy_get_string

__all__ = ["binary_cross_entropy", "binary_cross_entropy_with_logits"]
__all__ += ["gaussian_nll_loss", "huber_loss", "kl_div", "l1_loss", "mse_loss"]
__all__ += ["poisson_nll_loss", "smooth_l1_loss", "soft_margin_loss"]

_SIZES = (
    "Using a target size ({target}) that is different to the input size ({input}). "
    "This will likely lead to incorrect results due to broadcasting. Please ensure "
    "they have the same size."
)


def legacy_reduction(
    size_average: bool | None, reduce: bool | None, reduction: str
) -> str:
    """Return the reduction, or what the switches from before it say."""
    if size_average is None and reduce is None:
        return reduction
    return legacy_get_string(size_average, reduce)


def reduce_losses(losses: Tensor, reduction: str) -> Tensor:
    """Average or add up losses that a composed function computed."""
    number = reduction_number(reduction)
    if number == kernels.NONE:
        return losses
    return losses.mean() if number == kernels.MEAN else losses.sum()


def _warn_sizes(input: Tensor, target: Tensor) -> None:
    if target.size() != input.size():
        warnings.warn(
            _SIZES.format(target=target.size(), input=input.size()),
            UserWarning,
            stacklevel=user_stacklevel(),
        )


def _paired(input: Tensor, target: Tensor) -> tuple[Any, ...]:
    """Warn about unlike sizes and broadcast the operands to one shape."""
    _warn_sizes(input, target)
    if target.size() == input.size():
        return input, target
    return FUNCTIONS["broadcast_tensors"](input, target)


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Return the mean of squared differences.

    >>> import gradtape as torch
    >>> torch.nn.functional.mse_loss(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 2.0]))
    tensor(2.)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    left, right = _paired(input, target)
    if weight is not None:
        return _weighted(kernels.mse_loss(left, right, 0), weight, input, reduction)
    return kernels.mse_loss(*_promoted(left, right), reduction_number(reduction))


def _promoted(left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    if left.dtype is right.dtype:
        return left, right
    common = FUNCTIONS["result_type"](left, right)
    return left.to(common), right.to(common)


def _weighted(losses: Tensor, weight: Tensor, input: Tensor, reduction: str) -> Tensor:
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    losses = losses * weight
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum()
    if reduction == "mean":
        return losses.sum() / weight.sum()
    raise ValueError(
        f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'."
    )


@autocasts("l1_loss")
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Return the mean of absolute differences."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    left, right = _paired(input, target)
    losses = (left - right).abs()
    if weight is not None:
        return _weighted(losses, weight, input, reduction)
    return reduce_losses(losses, reduction)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Square differences below ``beta``, take larger ones as they are."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    left, right = _paired(input, target)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0.0:
        return reduce_losses((left - right).abs(), reduction)
    left, right = _promoted(left, right)
    return kernels.smooth_l1_loss(left, right, reduction_number(reduction), beta)


def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Square differences below ``delta``, take larger ones times ``delta``."""
    left, right = _paired(input, target)
    if weight is not None:
        losses = kernels.huber_loss(left, right, 0, delta)
        return _weighted(losses, weight, input, reduction)
    return kernels.huber_loss(left, right, reduction_number(reduction), delta)


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the mean of ``log(1 + exp(-target * input))``."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    return kernels.soft_margin_loss(input, target, reduction_number(reduction))


# ---- bits ----


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Compare probabilities with bits.

    Raises ValueError for unlike sizes, RuntimeError for values outside [0, 1].
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input "
            f"size ({input.size()}) is deprecated. Please ensure they have the same "
            "size."
        )
    if weight is not None:
        weight = weight.expand(tuple(target.shape))
    number = reduction_number(reduction)
    return kernels.binary_cross_entropy(input, target, weight, number)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Compare logits with bits; raise ValueError for unlike sizes."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(
            f"Target size ({target.size()}) must be the same as input size "
            f"({input.size()})"
        )
    return kernels.binary_cross_entropy_with_logits(
        input, target, weight, pos_weight, reduction_number(reduction)
    )


# ---- divergences ----


@autocasts("kl_div")
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Return the Kullback-Leibler divergence of log-probabilities from ``target``."""
    check_tensors("kl_div", input=input, target=target)
    reduction = legacy_reduction(size_average, reduce, reduction)
    if reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the "
            "support size.'batchmean' divides only by the batch size, and aligns with "
            "the KL div math definition.'mean' will be changed to behave the same as "
            "'batchmean' in the next major release.",
            UserWarning,
            stacklevel=user_stacklevel(),
        )
    if any(t._data.dtype.kind in "biu" for t in (input, target)):
        raise RuntimeError("kl_div: Integral inputs not supported.")
    if log_target:
        losses = target.exp() * (target - input)
    else:
        losses = target.xlogy(target) - target * input
    if reduction == "batchmean":
        total = losses.sum()
        return total / input.shape[0] if input.dim() != 0 else total
    return reduce_losses(losses, reduction)


@autocasts("poisson_nll_loss")
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative log likelihood of counts under Poisson rates."""
    check_tensors("poisson_nll_loss", input=input, target=target)
    reduction = legacy_reduction(size_average, reduce, reduction)
    if log_input:
        losses = input.exp() - target * input
    else:
        losses = input - target * add_number(input, eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        losses = losses + stirling.masked_fill(target <= 1, 0)
    return reduce_losses(losses, reduction)


def _variance(input: Tensor, var: Tensor | float) -> Tensor:
    negative = (var.detach() < 0).any() if isinstance(var, Tensor) else var < 0
    if negative:
        raise ValueError("var has negative entry/entries")
    return var if isinstance(var, Tensor) else var * FUNCTIONS["ones_like"](input)


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative log likelihood of values under normal distributions."""
    spread = _variance(input, var)
    if spread.size() != input.size():
        if tuple(input.shape[:-1]) == tuple(spread.shape):
            spread = spread.unsqueeze(-1)
        else:  # one dimension may be broadcast
            pairs = zip(input.shape, spread.shape, strict=False)
            odd = [n for m, n in pairs if m != n]
            if input.dim() != spread.dim() or sum(odd) != 1:
                raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    spread = spread.clone()
    with no_grad():  # the floor is no part of the derivative
        spread.clamp_(min=eps)
    losses = 0.5 * (spread.log() + (input - target) ** 2 / spread)
    if full:
        losses = losses + 0.5 * math.log(2 * math.pi)
    return reduce_losses(losses, reduction)
