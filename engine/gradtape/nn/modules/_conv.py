"""Convolution layers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..._tensor.tensor import Tensor
from .. import functional as F
from .. import init
from .._fresh import parameter
from ._module import Module
from ._sizes import Sizes, ntuple, repeated_reversed

_PADDINGS = {"same", "valid"}
_MODES = {"zeros", "reflect", "replicate", "circular"}


class _ConvNd(Module):
    """What all convolution layers share: options, weights and their text."""

    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes,
        padding: str | Sizes,
        dilation: Sizes,
        transposed: bool,
        output_padding: Sizes,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_options(in_channels, out_channels, stride, padding, groups, padding_mode)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = _border(padding, kernel_size, dilation)
        channels = (out_channels, in_channels // groups)
        if transposed:
            channels = (in_channels, out_channels // groups)
        self.weight = parameter((*channels, *kernel_size), device, dtype)
        if bias:
            self.bias = parameter(out_channels, device, dtype)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        """Return the options as PyTorch prints them; defaults are left out."""
        dims = len(self.kernel_size)
        parts = [
            f"{self.in_channels}, {self.out_channels}",
            f"kernel_size={self.kernel_size}",
            f"stride={self.stride}",
        ]
        if self.padding != (0,) * len(self.padding):
            parts.append(f"padding={self.padding}")
        if self.dilation != (1,) * dims:
            parts.append(f"dilation={self.dilation}")
        if self.output_padding != (0,) * dims:
            parts.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


def _check_options(
    in_channels: int,
    out_channels: int,
    stride: Sizes,
    padding: str | Sizes,
    groups: int,
    padding_mode: str,
) -> None:
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups != 0:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups != 0:
        raise ValueError("out_channels must be divisible by groups")
    if isinstance(padding, str):
        if padding not in _PADDINGS:
            raise ValueError(
                f"Invalid padding string {padding!r}, should be one of {_PADDINGS}"
            )
        if padding == "same" and any(s != 1 for s in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if padding_mode not in _MODES:
        raise ValueError(
            f"padding_mode must be one of {_MODES}, but got "
            f"padding_mode='{padding_mode}'"
        )


def _border(padding: str | Sizes, kernel: Sizes, dilation: Sizes) -> list[int]:
    """Return what ``pad`` takes for a padding mode other than zeros."""
    if not isinstance(padding, str):
        return list(repeated_reversed(padding, 2))
    border: list[int] = []
    for size, gap in zip(reversed(kernel), reversed(dilation), strict=True):
        total = gap * (size - 1) if padding == "same" else 0
        border += [total // 2, total - total // 2]
    return border


class _Conv(_ConvNd):
    """A convolution of ``dims`` spatial dimensions."""

    dims: int
    convolve: Callable[..., Tensor]

    def __init__(
        self,
        in_channels: int,
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
        dims = self.dims
        super().__init__(
            in_channels,
            out_channels,
            ntuple(kernel_size, dims),
            ntuple(stride, dims),
            padding if isinstance(padding, str) else ntuple(padding, dims),
            ntuple(dilation, dims),
            False,
            (0,) * dims,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _conv_forward(
        self, input: Tensor, weight: Tensor, bias: Tensor | None
    ) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            border = self._reversed_padding_repeated_twice
            input = F.pad(input, border, mode=self.padding_mode)
            padding = (0,) * self.dims
        return type(self).convolve(
            input, weight, bias, self.stride, padding, self.dilation, self.groups
        )

    def forward(self, input: Tensor) -> Tensor:
        """Convolve a batch, or one sample without a batch dimension."""
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    """Convolve (N, C, length).

    >>> import gradtape as torch
    >>> torch.nn.Conv1d(3, 4, 2)(torch.ones(5, 3, 8)).shape
    torch.Size([5, 4, 7])
    """

    dims = 1
    convolve = staticmethod(F.conv1d)


class Conv2d(_Conv):
    """Convolve (N, C, height, width).

    >>> import gradtape as torch
    >>> torch.nn.Conv2d(3, 4, 3, padding=1)(torch.ones(5, 3, 8, 8)).shape
    torch.Size([5, 4, 8, 8])
    """

    dims = 2
    convolve = staticmethod(F.conv2d)


class Conv3d(_Conv):
    """Convolve (N, C, depth, height, width)."""

    dims = 3
    convolve = staticmethod(F.conv3d)
