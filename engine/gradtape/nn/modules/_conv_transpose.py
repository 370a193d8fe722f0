"""Transposed convolution layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..._tensor.tensor import Tensor
from .. import functional as F
from ._conv import _ConvNd
from ._sizes import Sizes, ntuple


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
