"""Linear maps, convolutions and norms that wait for their first input."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._modes.grad_mode import no_grad
from ..._tensor.tensor import Tensor, wrap
from ..parameter import UninitializedBuffer, UninitializedParameter
from ._batchnorm import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
)
from ._conv import Conv1d, Conv2d, Conv3d
from ._conv_transpose import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ._linear import Linear
from .lazy import LazyModuleMixin


class LazyLinear(LazyModuleMixin, Linear):
    """A linear map whose ``in_features`` come from the first input.

    >>> import gradtape as torch
    >>> layer = torch.nn.LazyLinear(2)
    >>> layer(torch.ones(1, 3)).shape
    torch.Size([1, 2])
    >>> layer
    Linear(in_features=3, out_features=2, bias=True)
    """

    cls_to_become = Linear

    def __init__(
        self,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw new weights, once there are any."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Materialize weight and bias for this input."""
        if self.has_uninitialized_params():
            with no_grad():
                self.in_features = input.shape[-1]
                _materialize(self.weight, (self.out_features, self.in_features))
                _materialize(self.bias, (self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:  # the weights were loaded
            if input.shape[-1] != self.weight.shape[-1]:
                raise AssertionError(
                    f"The in_features inferred from input: {input.shape[-1]} is not "
                    "equal to in_features from self.weight: "
                    f"{self.weight.shape[-1]}"
                )
            self.in_features = input.shape[-1]


def _materialize(tensor: Any, shape: tuple[int, ...]) -> None:
    if tensor is not None:
        tensor.materialize(shape)


# ---- convolutions ----


class _LazyConv(LazyModuleMixin):
    """A convolution whose ``in_channels`` come from the first input."""

    in_channels: int
    out_channels: int
    groups: int
    transposed: bool
    kernel_size: tuple[int, ...]
    weight: Any
    bias: Any

    def _wait(self, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        """Put parameters in place that have no shape yet."""
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw new weights, once there are any."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Materialize weight and bias for this input."""
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._get_in_channels(input)
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        channels = (self.out_channels, self.in_channels // self.groups)
        if self.transposed:
            channels = (self.in_channels, self.out_channels // self.groups)
        _materialize(self.weight, (*channels, *self.kernel_size))
        _materialize(self.bias, (self.out_channels,))
        self.reset_parameters()

    def _get_in_channels(self, input: Tensor) -> int:
        single = self._get_num_spatial_dims() + 1
        if input.dim() not in (single, single + 1):
            raise RuntimeError(
                f"Expected {single}D (unbatched) or {single + 1}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
            )
        return input.shape[-single]

    def _get_num_spatial_dims(self) -> int:
        return len(self.kernel_size)


class _LazyPlain(_LazyConv):
    """The arguments of a convolution without ``in_channels``."""

    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        how = (stride, padding, dilation, groups, False, padding_mode)
        super().__init__(0, 0, kernel_size, *how, device, dtype)
        self._wait(out_channels, bias, device, dtype)


class _LazyTransposed(_LazyConv):
    """The arguments of a transposed convolution without ``in_channels``."""

    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        how = (stride, padding, output_padding, groups, False, dilation, padding_mode)
        super().__init__(0, 0, kernel_size, *how, device, dtype)
        self._wait(out_channels, bias, device, dtype)


class LazyConv1d(_LazyPlain, Conv1d):
    """Be a convolution of sequences once an input tells how wide."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyPlain, Conv2d):
    """Be a convolution of images once an input tells how wide."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyPlain, Conv3d):
    """Be a convolution of volumes once an input tells how wide."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyTransposed, ConvTranspose1d):
    """Be a transposed convolution of sequences once an input tells how wide."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposed, ConvTranspose2d):
    """Be a transposed convolution of images once an input tells how wide."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposed, ConvTranspose3d):
    """Be a transposed convolution of volumes once an input tells how wide."""

    cls_to_become = ConvTranspose3d


# ---- norms ----


class _LazyNorm(LazyModuleMixin):
    """A norm whose ``num_features`` come from the first input."""

    num_features: int
    affine: bool
    track_running_stats: bool
    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = wrap(np.zeros((), np.int64))

    def reset_parameters(self) -> None:
        """Reset weights and statistics, once there are any."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor) -> None:
        """Materialize weights and statistics for this input."""
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        shape = (self.num_features,)
        if self.affine:
            _materialize(self.weight, shape)
            _materialize(self.bias, shape)
        if self.track_running_stats:
            _materialize(self.running_mean, shape)
            _materialize(self.running_var, shape)
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """Normalise sequences by batch once an input tells how wide."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """Normalise images by batch once an input tells how wide."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """Normalise volumes by batch once an input tells how wide."""

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """Normalise sequences by instance once an input tells how wide."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """Normalise images by instance once an input tells how wide."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """Normalise volumes by instance once an input tells how wide."""

    cls_to_become = InstanceNorm3d
