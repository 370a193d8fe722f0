"""Layers that drop values at random while training."""

from __future__ import annotations

from ..._tensor.tensor import Tensor
from .. import functional as F
from ._function_layer import UnaryLayer

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d"]
__all__ += ["FeatureAlphaDropout"]


class _DropoutNd(UnaryLayer):
    """A chance to be dropped; raise ValueError where it is none."""

    _options, _shown = ("p", "training", "inplace"), ("p", "inplace")

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(
                f"dropout probability has to be between 0 and 1, but got {p}"
            )
        self.p = p
        self.inplace = inplace


class Dropout(_DropoutNd):
    """Set elements to zero with probability ``p`` and scale the others up."""

    def forward(self, input: Tensor) -> Tensor:
        """Drop elements while training; written out, for it is called often."""
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Set whole channels of (N, C, length) to zero."""

    _function = "dropout1d"


class Dropout2d(_DropoutNd):
    """Set whole channels of (N, C, height, width) to zero."""

    _function = "dropout2d"


class Dropout3d(_DropoutNd):
    """Set whole channels of (N, C, depth, height, width) to zero."""

    _function = "dropout3d"


class AlphaDropout(_DropoutNd):
    """Drop elements to the lower limit of selu, keeping mean and variance."""

    _function, _options = "alpha_dropout", ("p", "training")


class FeatureAlphaDropout(_DropoutNd):
    """Drop whole channels as AlphaDropout drops elements."""

    _function, _options = "feature_alpha_dropout", ("p", "training")
