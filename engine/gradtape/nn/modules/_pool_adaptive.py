"""Pooling layers that reach a given output size."""

from __future__ import annotations

from typing import Any

from ..._tensor.tensor import Tensor
from .. import functional as F
from ._module import Module

# ---- adaptive ----


class _AdaptiveAvgPoolNd(Module):
    pool: Any

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        """Return the means of as many cells as asked for."""
        return type(self).pool(input, self.output_size)

    def extra_repr(self) -> str:
        """Return the size asked for."""
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Average (N, C, length) down to a given length."""

    pool = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Average (N, C, height, width) down to a given size."""

    pool = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Average (N, C, depth, height, width) down to a given size."""

    pool = staticmethod(F.adaptive_avg_pool3d)


class _AdaptiveMaxPoolNd(Module):
    pool: Any

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        """Return the largest values of as many cells as asked for."""
        return type(self).pool(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        """Return the size asked for."""
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Take maxima of (N, C, length) down to a given length."""

    pool = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Take maxima of (N, C, height, width) down to a given size."""

    pool = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Take maxima of (N, C, depth, height, width) down to a given size."""

    pool = staticmethod(F.adaptive_max_pool3d)
