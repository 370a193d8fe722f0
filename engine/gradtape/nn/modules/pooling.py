"""Pooling: maxima, averages and power means of windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._tensor.tensor import Tensor
from ._function_layer import FunctionLayer, UnaryLayer
from .utils import ntuple

__all__ = ["AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d"]
__all__ += ["AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "AvgPool1d"]
__all__ += ["AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d"]
__all__ += ["LPPool1d", "LPPool2d", "LPPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d"]
__all__ += ["MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d"]

# ---- max ----


class _MaxPoolNd(UnaryLayer):
    """The largest value of each window."""

    _options = ("kernel_size", "stride", "padding", "dilation")
    _shown = (*_options, "ceil_mode")

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        """Return the maxima, with their places where ``return_indices`` is set."""
        return self._call(
            input, ceil_mode=self.ceil_mode, return_indices=self.return_indices
        )


class MaxPool1d(_MaxPoolNd):
    """Return the largest value of each window of (N, C, length)."""

    _function = "max_pool1d"


class MaxPool2d(_MaxPoolNd):
    """Return the largest value of each window of (N, C, height, width).

    >>> import gradtape as torch
    >>> torch.nn.MaxPool2d(2)(torch.ones(1, 1, 4, 4)).shape
    torch.Size([1, 1, 2, 2])
    """

    _function = "max_pool2d"


class MaxPool3d(_MaxPoolNd):
    """Return the largest value of each window of (N, C, depth, height, width)."""

    _function = "max_pool3d"


class _MaxUnpoolNd(FunctionLayer):
    """Puts maxima back, over ``dims`` spatial dimensions."""

    dims: int
    _options = _shown = ("kernel_size", "stride", "padding")

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size = ntuple(kernel_size, self.dims)
        self.stride = ntuple(kernel_size if stride is None else stride, self.dims)
        self.padding = ntuple(padding, self.dims)

    def forward(
        self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        """Return planes with each value at its index and zeros elsewhere."""
        return self._call(input, indices, output_size=output_size)


class MaxUnpool1d(_MaxUnpoolNd):
    """Undo MaxPool1d as far as its indices tell."""

    dims, _function = 1, "max_unpool1d"


class MaxUnpool2d(_MaxUnpoolNd):
    """Undo MaxPool2d as far as its indices tell."""

    dims, _function = 2, "max_unpool2d"


class MaxUnpool3d(_MaxUnpoolNd):
    """Undo MaxPool3d as far as its indices tell."""

    dims, _function = 3, "max_unpool3d"


# ---- average ----


class AvgPool1d(UnaryLayer):
    """Return the mean of each window of (N, C, length)."""

    _function, _shown = "avg_pool1d", ("kernel_size", "stride", "padding")
    _options = (*_shown, "ceil_mode", "count_include_pad")

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = ntuple(kernel_size, 1)
        self.stride = ntuple(kernel_size if stride is None else stride, 1)
        self.padding = ntuple(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad


class _AvgPoolNd(UnaryLayer):
    """The mean of each window."""

    _shown = ("kernel_size", "stride", "padding")
    _options = (*_shown, "ceil_mode", "count_include_pad", "divisor_override")

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override


class AvgPool2d(_AvgPoolNd):
    """Return the mean of each window of (N, C, height, width)."""

    _function = "avg_pool2d"


class AvgPool3d(_AvgPoolNd):
    """Return the mean of each window of (N, C, depth, height, width)."""

    _function = "avg_pool3d"


class _LPPoolNd(UnaryLayer):
    """The p-norm of each window."""

    _options = ("kernel_size", "stride", "ceil_mode")
    _shown = ("norm_type", *_options)

    def __init__(
        self,
        norm_type: float,
        kernel_size: Any,
        stride: Any = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        """Return the norms."""
        return self._call(input, float(self.norm_type))


class LPPool1d(_LPPoolNd):
    """Return the p-norm of each window of (N, C, length)."""

    _function = "lp_pool1d"


class LPPool2d(_LPPoolNd):
    """Return the p-norm of each window of (N, C, height, width)."""

    _function = "lp_pool2d"


class LPPool3d(_LPPoolNd):
    """Return the p-norm of each window of (N, C, depth, height, width)."""

    _function = "lp_pool3d"


# ---- adaptive ----


class _AdaptiveAvgPoolNd(UnaryLayer):
    _options = _shown = ("output_size",)

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Average (N, C, length) down to a given length."""

    _function = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Average (N, C, height, width) down to a given size."""

    _function = "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Average (N, C, depth, height, width) down to a given size."""

    _function = "adaptive_avg_pool3d"


class _AdaptiveMaxPoolNd(UnaryLayer):
    _options, _shown = ("output_size", "return_indices"), ("output_size",)

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        """Return the largest values, and with ``return_indices`` where they are."""
        return self._call(input)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Take maxima of (N, C, length) down to a given length."""

    _function = "adaptive_max_pool1d"


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Take maxima of (N, C, height, width) down to a given size."""

    _function = "adaptive_max_pool2d"


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Take maxima of (N, C, depth, height, width) down to a given size."""

    _function = "adaptive_max_pool3d"


class _FractionalMaxPool(UnaryLayer):
    """Fractional max pooling over ``dims`` spatial dimensions."""

    dims: int
    _options = ("kernel_size", "output_size", "output_ratio", "return_indices")

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
        return self._call(input, _random_samples=self._random_samples)


class FractionalMaxPool2d(_FractionalMaxPool):
    """Take the largest values of windows at random places of (N, C, H, W)."""

    dims, _function = 2, "fractional_max_pool2d"


class FractionalMaxPool3d(_FractionalMaxPool):
    """Take the largest values of windows at random places of (N, C, D, H, W)."""

    dims, _function = 3, "fractional_max_pool3d"
