"""Losses: of values, of classes, of pairs and triplets, and of alignments."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from ..._tensor.tensor import Tensor
from .. import functional as F
from .._functional.loss import legacy_reduction
from ._function_layer import FunctionLayer
from .distance import PairwiseDistance
from .linear import Linear
from .linear_cross_entropy_options import LinearCrossEntropyOptions
from .module import Module

__all__ = ["BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss"]
__all__ += ["CrossEntropyLoss", "GaussianNLLLoss", "HingeEmbeddingLoss", "HuberLoss"]
__all__ += ["KLDivLoss", "L1Loss", "LinearCrossEntropyLoss", "MSELoss"]
__all__ += ["MarginRankingLoss", "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss"]
__all__ += ["MultiMarginLoss", "NLLLoss", "NLLLoss2d", "PoissonNLLLoss", "SmoothL1Loss"]
__all__ += ["SoftMarginLoss", "TripletMarginLoss", "TripletMarginWithDistanceLoss"]


class _Loss(FunctionLayer):
    """A loss per element, and how the elements' losses become one.

    Its function takes the attributes by name.
    """

    reduction: str

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        self.reduction = legacy_reduction(size_average, reduce, reduction)

    def _call(self, *inputs: Any, **named: Any) -> Tensor:
        named |= {name: getattr(self, name) for name in self._options}
        return getattr(F, self._function)(*inputs, **named, reduction=self.reduction)


class _PlainLoss(_Loss):
    """A loss of two inputs."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare an output with its target."""
        return self._call(input, target)


class _WeightedLoss(_PlainLoss):
    """A loss whose classes or elements have weights."""

    _options = ("weight",)
    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


# ---- regression ----


class L1Loss(_PlainLoss):
    """Absolute differences."""

    _function = "l1_loss"


class MSELoss(_PlainLoss):
    """Squared differences.

    >>> import gradtape as torch
    >>> torch.nn.MSELoss()(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 2.0]))
    tensor(2.)
    """

    _function = "mse_loss"


class SmoothL1Loss(_PlainLoss):
    """Squares of differences below ``beta``, larger ones as they are."""

    _function = "smooth_l1_loss"
    _options = ("beta",)

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta


class HuberLoss(_PlainLoss):
    """Squares of differences below ``delta``, larger ones times ``delta``."""

    _function = "huber_loss"
    _options = ("delta",)

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        if not isinstance(delta, (float, int)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        super().__init__(reduction=reduction)
        self.delta = delta


class PoissonNLLLoss(_Loss):
    """Negative log likelihood of counts under Poisson rates."""

    _function = "poisson_nll_loss"
    _options = ("log_input", "full", "eps")

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        """Compare rates, or their logarithms, with counts."""
        return self._call(log_input, target)


class GaussianNLLLoss(_Loss):
    """Negative log likelihood of values under normal distributions."""

    _function = "gaussian_nll_loss"
    _options = ("full", "eps")

    def __init__(
        self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
    ) -> None:
        super().__init__(None, None, reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        """Compare means and variances with values."""
        return self._call(input, target, var)


# ---- bits and distributions ----


class BCELoss(_WeightedLoss):
    """Cross entropy of probabilities with bits."""

    _function = "binary_cross_entropy"


class BCEWithLogitsLoss(_WeightedLoss):
    """Cross entropy of logits with bits, without overflow."""

    _function = "binary_cross_entropy_with_logits"
    _options = ("weight", "pos_weight")
    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.register_buffer("pos_weight", pos_weight)


class SoftMarginLoss(_PlainLoss):
    """``log(1 + exp(-target * input))``, the target being 1 or -1."""

    _function = "soft_margin_loss"


class KLDivLoss(_PlainLoss):
    """Kullback-Leibler divergence of log-probabilities from a distribution."""

    _function = "kl_div"
    _options = ("log_target",)

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target


_OLD_NAME = (
    "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in "
    "replacement and see https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss for "
    "more details."
)


# ---- classes ----


class NLLLoss(_WeightedLoss):
    """Negated log-probabilities at each sample's class."""

    _function = "nll_loss"
    _options = ("weight", "ignore_index")

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index


class NLLLoss2d(NLLLoss):
    """NLLLoss by its old name, which warns."""

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        warnings.warn(_OLD_NAME, FutureWarning, stacklevel=2)
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class CrossEntropyLoss(_WeightedLoss):
    """Cross entropy of logits with class indices or probabilities.

    >>> import gradtape as torch
    >>> torch.nn.CrossEntropyLoss()(torch.zeros(1, 2), torch.tensor([1]))
    tensor(0.6931)
    """

    _function = "cross_entropy"
    _options = ("weight", "ignore_index", "label_smoothing")

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing


class LinearCrossEntropyLoss(_WeightedLoss):
    """Cross entropy of what a linear layer inside makes of the input.

    >>> import gradtape as torch
    >>> loss = torch.nn.LinearCrossEntropyLoss(4, 3)
    >>> loss(torch.zeros(1, 4), torch.tensor([1]))
    tensor(1.0986, grad_fn=<NllLossBackward0>)
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        if weight is not None and weight.shape != (num_classes,):
            raise RuntimeError(
                f"expected weight shape to be {(num_classes,)}, "
                f"got {tuple(weight.shape)}"
            )
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(
                f"expected label_smoothing to be in range [0, 1], got {label_smoothing}"
            )
        super().__init__(weight, reduction=reduction)
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        rows = math.prod(out_features, start=num_classes)
        self.linear = Linear(in_features, rows, bias, device, dtype)
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare the logits of an input with classes."""
        linear, sizes = self.linear, (self.num_classes, *self.out_features)
        return F.linear_cross_entropy(
            input,
            linear.weight.reshape((*sizes, linear.in_features)),
            target,
            linear_bias=None if linear.bias is None else linear.bias.reshape(sizes),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        """Return the sizes and how losses are made one."""
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )


class MultiMarginLoss(_WeightedLoss):
    """Classes that come within a margin of the right one."""

    _function = "multi_margin_loss"
    _options = ("p", "margin", "weight")

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.dim() != 1:
            raise ValueError(
                "MultiMarginLoss: expected weight to be None or 1D tensor, got "
                f"{weight.dim()}D instead"
            )
        self.p = p
        self.margin = margin


class MultiLabelMarginLoss(_PlainLoss):
    """Classes that come within 1 of any of the right ones: lists, each ended by -1."""

    _function = "multilabel_margin_loss"


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Cross entropy of several labels at once, class by class."""

    _function = "multilabel_soft_margin_loss"


# ---- pairs and triples ----


class _MarginLoss(_Loss):
    """A loss over pairs with one margin."""

    _options = ("margin",)

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class HingeEmbeddingLoss(_MarginLoss):
    """Distances of like pairs, and how far unlike ones are inside the margin."""

    _function = "hinge_embedding_loss"

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin, size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compare distances with 1 (like) and -1 (unlike)."""
        return self._call(input, target)


class CosineEmbeddingLoss(_MarginLoss):
    """Angles of like pairs, and how far unlike ones are inside the margin."""

    _function = "cosine_embedding_loss"

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """Compare pairs with 1 (like) and -1 (unlike)."""
        return self._call(input1, input2, target)


class MarginRankingLoss(_MarginLoss):
    """How far the larger input falls short of the other by a margin."""

    _function = "margin_ranking_loss"

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """Compare pairs with 1 (first larger) and -1."""
        return self._call(input1, input2, target)


class TripletMarginLoss(_Loss):
    """How far the anchor is from being nearer to the positive by a margin."""

    _function = "triplet_margin_loss"
    _options = ("margin", "p", "eps", "swap")

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(
                "TripletMarginLoss: expected margin to be greater than 0, got "
                f"{margin} instead"
            )
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """Compare an anchor with a like and an unlike vector."""
        return self._call(anchor, positive, negative)


class TripletMarginWithDistanceLoss(_Loss):
    """TripletMarginLoss with a distance of the user's."""

    _function = "triplet_margin_with_distance_loss"
    _options = ("distance_function", "margin", "swap")

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Any] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise ValueError(
                "TripletMarginWithDistanceLoss: expected margin to be greater than 0, "
                f"got {margin} instead"
            )
        self.distance_function = (
            PairwiseDistance() if distance_function is None else distance_function
        )
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """Compare an anchor with a like and an unlike vector."""
        return self._call(anchor, positive, negative)


class CTCLoss(Module):
    """The loss of label sequences over all ways to align them with the input."""

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__()
        self.reduction = reduction
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(
        self,
        log_probs: Tensor,
        targets: Tensor,
        input_lengths: Any,
        target_lengths: Any,
    ) -> Tensor:
        """Return the loss, reduced as the layer was told."""
        lengths = (input_lengths, target_lengths)
        how = (self.blank, self.reduction, self.zero_infinity)
        return F.ctc_loss(log_probs, targets, *lengths, *how)
