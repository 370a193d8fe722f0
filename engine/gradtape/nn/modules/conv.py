"""Convolutions, transposed ones, and those that wait for their first input."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..._tensor.tensor import Tensor
from .. import functional as F
from .. import init
from .._factory import parameter
from ..parameter import UninitializedParameter
from .lazy import LazyModuleMixin, materialize
from .module import Module
from .utils import Sizes, _reverse_repeat_tuple, ntuple

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d"]
__all__ += ["ConvTranspose3d", "LazyConv1d", "LazyConv2d", "LazyConv3d"]
__all__ += ["LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d"]

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
        return list(_reverse_repeat_tuple(padding, 2))
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


class _ConvTransposeNd(_ConvNd):
    """A transposed convolution of ``dims`` spatial dimensions."""

    dims: int
    convolve: Callable[..., Tensor]

    def __init__(
        self,
        in_channels: int,
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
        if padding_mode != "zeros":
            raise ValueError(
                f'Only "zeros" padding mode is supported for {type(self).__name__}'
            )
        dims = self.dims
        super().__init__(
            in_channels,
            out_channels,
            ntuple(kernel_size, dims),
            ntuple(stride, dims),
            ntuple(padding, dims),
            ntuple(dilation, dims),
            True,
            ntuple(output_padding, dims),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(
        self, input: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        """Spread each value over a window; ``output_size`` picks one of the fits."""
        extra = self._output_padding(input, output_size)
        return type(self).convolve(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            extra,
            self.groups,
            self.dilation,
        )

    def _output_padding(
        self, input: Tensor, output_size: Sequence[int] | None
    ) -> Sizes:
        if output_size is None:
            return self.output_padding
        dims = self.dims
        wanted = output_size
        if len(wanted) == input.dim():
            wanted = wanted[input.dim() - dims :]
        if len(wanted) != dims:
            raise ValueError(
                f"ConvTranspose{dims}D: for {input.dim()}D input, output_size must "
                f"have {dims} or {input.dim()} elements (got {len(wanted)})"
            )
        smallest = [
            (n - 1) * s - 2 * int(p) + d * (k - 1) + 1
            for n, s, p, d, k in zip(
                input.shape[-dims:],
                self.stride,
                self.padding,
                self.dilation,
                self.kernel_size,
                strict=True,
            )
        ]
        largest = [m + s - 1 for m, s in zip(smallest, self.stride, strict=True)]
        fits = zip(smallest, wanted, largest, strict=True)
        if any(not low <= size <= high for low, size, high in fits):
            raise ValueError(
                f"requested an output size of {wanted}, but valid sizes range from "
                f"{smallest} to {largest} (for an input of {input.shape[2:]})"
            )
        return tuple(w - m for w, m in zip(wanted, smallest, strict=True))


class ConvTranspose1d(_ConvTransposeNd):
    """Spread each value of (N, C, length) over a window."""

    dims = 1
    convolve = staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_ConvTransposeNd):
    """Spread each value of (N, C, height, width) over a window."""

    dims = 2
    convolve = staticmethod(F.conv_transpose2d)


class ConvTranspose3d(_ConvTransposeNd):
    """Spread each value of (N, C, depth, height, width) over a window."""

    dims = 3
    convolve = staticmethod(F.conv_transpose3d)


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
        materialize(self.weight, (*channels, *self.kernel_size))
        materialize(self.bias, (self.out_channels,))
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
