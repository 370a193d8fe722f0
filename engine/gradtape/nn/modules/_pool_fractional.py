"""Fractional max pooling as layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._tensor.tensor import Tensor
from .. import functional as F
from ._module import Module
from ._sizes import ntuple


class _FractionalMaxPool(Module):
    """Fractional max pooling over ``dims`` spatial dimensions."""

    dims: int
    pool: Callable[..., Any]

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        dims, name = self.dims, type(self).__name__
        kernel = ntuple(kernel_size, dims)
        if dims == 3 and not all(k > 0 for k in kernel):
            raise ValueError(
                f"kernel_size must be greater than 0, but got {kernel_size}"
            )
        self.kernel_size = kernel
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else ntuple(output_size, dims)
        self.output_ratio: Any = None
        if output_ratio is not None:
            self.output_ratio = ntuple(output_ratio, dims)
        if output_size is None and output_ratio is None:
            raise ValueError(
                f"{name} requires specifying either an output size, or a pooling ratio"
            )
        if output_size is not None and output_ratio is not None:
            raise ValueError(
                "only one of output_size and output_ratio may be specified"
            )
        ratios = self.output_ratio
        if ratios is not None and not all(0 < ratio < 1 for ratio in ratios):
            raise ValueError(
                f"output_ratio must be between 0 and 1 (got {output_ratio})"
            )

    def forward(self, input: Tensor) -> Any:
        """Return the largest values, and with ``return_indices`` where they are."""
        return type(self).pool(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPool):
    """Take the largest values of windows at random places of (N, C, H, W)."""

    dims = 2
    pool = staticmethod(F.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPool):
    """Take the largest values of windows at random places of (N, C, D, H, W)."""

    dims = 3
    pool = staticmethod(F.fractional_max_pool3d)
