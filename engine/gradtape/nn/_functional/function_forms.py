"""Layers as ``torch.<name>``: the same functions, with the arguments those names take.

PyTorch's reductions are numbers there, of which 0, none, is what it takes where none
is given; switches come as positions; pools that return indices have their own names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._common.type_name import type_name
from ..._dispatch.declare import FUNCTIONS, method, public
from ..._tensor.tensor import Tensor
from ...ops._support.arguments import float_argument
from . import (
    activation,
    distance,
    dropout,
    loss,
    loss_pairs,
    norm,
    pool,
    pool_adaptive,
    sparse,
)

_REDUCTIONS = ("none", "mean", "sum")


def _reduction(number: int) -> str:
    if number not in (0, 1, 2):
        raise ValueError(f"{number} is not a valid value for reduction")
    return _REDUCTIONS[number]


# ---- the same arguments ----

for _same in (
    activation.selu,
    activation.selu_,
    activation.celu_,
    distance.cosine_similarity,
    distance.pairwise_distance,
    norm.rms_norm,
    pool_adaptive.adaptive_avg_pool1d,
    sparse.channel_shuffle,
    sparse.pixel_shuffle,
    sparse.pixel_unshuffle,
):
    FUNCTIONS.setdefault(_same.__name__, _same)

FUNCTIONS.setdefault("native_channel_shuffle", sparse.channel_shuffle)
FUNCTIONS.setdefault("prelu", activation.prelu)
method("prelu")(activation.prelu)


# ---- activations and dropouts ----


@public
def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    generator: Any = None,
) -> Tensor:
    """Return leaky_relu with slopes drawn at random in training."""
    del generator
    return activation.rrelu(input, lower, upper, training)


@public
def rrelu_(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    generator: Any = None,
) -> Tensor:
    """In-place version of rrelu()."""
    del generator
    return activation.rrelu(input, lower, upper, training, inplace=True)


def _feature_dropout(input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    return dropout._feature(input, p, training, inplace)


def _drop(name: str, function: Callable[..., Tensor], inplace: bool) -> None:
    def drop(input: Tensor, p: float, train: bool) -> Tensor:
        p = float_argument(p, name, "p", 2)
        if not isinstance(train, bool):
            raise TypeError(
                f"{name}(): argument 'train' (position 3) must be bool, not "
                f"{type_name(train)}"
            )
        if not 0 <= p <= 1:
            raise RuntimeError(
                f"dropout probability has to be between 0 and 1, but got {p:g}"
            )
        return function(input, p, train, inplace)

    drop.__name__ = drop.__qualname__ = name
    drop.__doc__ = f"Drop in training, as nn.functional.{name.rstrip('_')}() does."
    public(drop)


for _name, _function in (
    ("dropout", dropout.dropout),
    ("alpha_dropout", dropout.alpha_dropout),
    ("feature_dropout", _feature_dropout),
    ("feature_alpha_dropout", dropout.feature_alpha_dropout),
):
    _drop(_name, _function, False)
    _drop(f"{_name}_", _function, True)


# ---- normalisation ----


@public
def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    """Normalise the last dimensions."""
    del cudnn_enable
    return norm.layer_norm(input, normalized_shape, weight, bias, eps)


@public
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    """Normalise groups of channels."""
    del cudnn_enabled
    return norm.group_norm(input, num_groups, weight, bias, eps)


@public
def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """Normalise each channel by the statistics of the batch."""
    del cudnn_enabled
    given = (input, weight, bias, running_mean, running_var)
    return FUNCTIONS["native_batch_norm"](*given, training, momentum, eps)[0]


@public
def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """Normalise each channel of each sample by itself."""
    del cudnn_enabled
    statistics = (running_mean, running_var)
    how = (use_input_stats, momentum, eps)
    return norm.instance_norm(input, *statistics, weight, bias, *how)


# ---- pools ----


def _pool(name: str, function: Callable[..., Any]) -> None:
    def maximum(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> Tensor:
        how = (padding, dilation, ceil_mode)
        return function(input, kernel_size, stride, *how)

    maximum.__name__ = maximum.__qualname__ = name
    maximum.__doc__ = "Return the largest value of each window."
    public(maximum)


for _dims, _function in enumerate(
    (pool.max_pool1d, pool.max_pool2d, pool.max_pool3d), 1
):
    _pool(f"max_pool{_dims}d", _function)


@public
def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    """Return the largest value of each window, and where it is."""
    how = (padding, dilation, ceil_mode)
    return pool.max_pool1d(input, kernel_size, stride, *how, return_indices=True)


@public
def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Return the mean of each window."""
    how = (padding, ceil_mode, count_include_pad)
    return pool.avg_pool1d(input, kernel_size, stride, *how)


@public
def adaptive_max_pool1d(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """Return the largest value of each of the cells, and where it is."""
    return pool_adaptive.adaptive_max_pool1d(input, output_size, True)


# ---- losses ----


@public
def kl_div(
    input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False
) -> Tensor:
    """Return the divergence of ``target`` from log-probabilities."""
    return loss.kl_div(
        input, target, reduction=_reduction(reduction), log_target=log_target
    )


@public
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = 0,
) -> Tensor:
    """Compare logits with probabilities, one by one."""
    return loss.binary_cross_entropy_with_logits(
        input,
        target,
        weight,
        reduction=_reduction(reduction),
        pos_weight=pos_weight,
    )


@public
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool,
    full: bool,
    eps: float,
    reduction: int,
) -> Tensor:
    """Return the negative log likelihood of counts."""
    return loss.poisson_nll_loss(
        input,
        target,
        log_input=log_input,
        full=full,
        eps=eps,
        reduction=_reduction(reduction),
    )


@public
def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0
) -> Tensor:
    """Pull distances of 1 together and push those of -1 apart."""
    how = _reduction(reduction)
    return loss_pairs.hinge_embedding_loss(input, target, margin, reduction=how)


@public
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    reduction: int = 0,
) -> Tensor:
    """Turn vectors of 1 towards each other and those of -1 away."""
    how = _reduction(reduction)
    return loss_pairs.cosine_embedding_loss(
        input1, input2, target, margin, reduction=how
    )


@public
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    reduction: int = 0,
) -> Tensor:
    """Ask the first to lead where the target is 1, the second where it is -1."""
    how = _reduction(reduction)
    return loss_pairs.ranking_losses(input1, input2, target, margin, how)


@public
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 0,
) -> Tensor:
    """Ask anchors to be nearer to their positives than to their negatives."""
    how = _reduction(reduction)
    return loss_pairs.triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap, reduction=how
    )
