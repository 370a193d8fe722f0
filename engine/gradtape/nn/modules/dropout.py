"""Layers that drop values at random while training."""

from __future__ import annotations

from ..._tensor.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d"]
__all__ += ["FeatureAlphaDropout"]


class _DropoutNd(Module):
    """A chance to be dropped; raise ValueError where it is none."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(
                f"dropout probability has to be between 0 and 1, but got {p}"
            )
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        """Return the options as PyTorch prints them."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Set elements to zero with probability ``p`` and scale the others up."""

    def forward(self, input: Tensor) -> Tensor:
        """Drop elements in training."""
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Set whole channels of (N, C, length) to zero."""

    def forward(self, input: Tensor) -> Tensor:
        """Drop channels in training."""
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Set whole channels of (N, C, height, width) to zero."""

    def forward(self, input: Tensor) -> Tensor:
        """Drop channels in training."""
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Set whole channels of (N, C, depth, height, width) to zero."""

    def forward(self, input: Tensor) -> Tensor:
        """Drop channels in training."""
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Drop elements to the lower limit of selu, keeping mean and variance."""

    def forward(self, input: Tensor) -> Tensor:
        """Drop elements in training."""
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """Drop whole channels as AlphaDropout drops elements."""

    def forward(self, input: Tensor) -> Tensor:
        """Drop channels in training."""
        return F.feature_alpha_dropout(input, self.p, self.training)
