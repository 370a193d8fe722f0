"""Convolutions, linear maps, windows and borders as functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._autocast.autocast import autocasts
from ..._common.type_name import type_name
from ..._dispatch.declare import FUNCTIONS, tensor_ops
from ..._tensor.tensor import Tensor
from ...ops._kernels.sliding_windows import Window, spread
from ...ops._support.arguments import check_tensor, check_tensors, sizes
from ...ops._support.conv_checks import check_convolution, check_transposed
from ...ops._support.signed import renamed
from ...ops.linalg.linear import linear as linear
from ...ops.nn.conv import col2im, convolution, im2col
from ...ops.rearrange.pad import constant_pad_nd
from ._window_checks import (
    check_border,
    check_border_rank,
    check_fold,
    check_unfold,
    pair,
)

__all__ = ["conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d"]
__all__ += ["conv_transpose3d", "fold", "linear", "pad", "unfold"]

_PAD_VALUE = "pad(): argument 'value' (position 4) must be float, not {}"
_TOO_WIDE = (
    "Padding length should be less than or equal to two times the input dimension but "
    "got padding length {pad} and input of dimension {ndim}"
)
_SAME_STRIDED = "padding='same' is not supported for strided convolutions"


def _batched(input: Tensor, dims: int, name: str) -> tuple[Tensor, bool]:
    """Give an unbatched input a batch of one; refuse other ranks."""
    if input.dim() == dims + 2:
        return input, False
    if input.dim() == dims + 1:
        return input.unsqueeze(0), True
    raise RuntimeError(
        f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, "
        f"but got input of size: {list(input.shape)}"
    )


def _named_padding(
    batch: Tensor,
    weight: Tensor,
    padding: str,
    stride: Sequence[int],
    dilation: Sequence[int],
) -> tuple[Tensor, tuple[int, ...]]:
    """Turn "same" or "valid" into numbers; an uneven border is added at once."""
    dims = len(stride)
    if padding == "valid":
        return batch, (0,) * dims
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if any(s != 1 for s in stride):
        raise RuntimeError(_SAME_STRIDED)
    if weight.dim() < 3:
        raise RuntimeError("weight should have at least three dimensions")
    if weight.dim() != batch.dim():
        raise RuntimeError(
            f"Expected {weight.dim()}-dimensional input for {weight.dim()}-dimensional "
            f"weight{list(weight.shape)}, but got {batch.dim()}-dimensional input of "
            f"size {list(batch.shape)} instead"
        )
    totals = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
    border = tuple(total // 2 for total in totals)
    if any(total % 2 for total in totals):
        extra: list[int] = []
        for total in reversed(totals):
            extra += [0, total % 2]
        batch = constant_pad_nd(batch, tuple(extra), 0)
    return batch, border


def _conv(dims: int, doc: str):
    """Return the convolution over ``dims`` spatial dimensions."""
    name = f"conv{dims}d"

    @autocasts(name)
    @renamed(name, doc)
    def conv(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        check_tensors(name, input=input, weight=weight)
        batch, single = _batched(input, dims, name)
        steps = spread(stride, dims, "stride", name)
        gaps = spread(dilation, dims, "dilation", name)
        if isinstance(padding, str):
            batch, border = _named_padding(batch, weight, padding, steps, gaps)
        else:
            border = spread(padding, dims, "padding", name)
        check_convolution(batch, weight, bias, steps, border, gaps, groups)
        how = (steps, border, gaps, False, (0,) * dims, groups)
        found = convolution(batch, weight, bias, *how)
        return found.squeeze(0) if single else found

    FUNCTIONS[name] = conv
    return conv


conv1d = _conv(1, "Convolve (N, C, length) with weights (out, C / groups, kernel).")
conv2d = _conv(
    2,
    """Convolve (N, C, height, width) with weights (out, C / groups, kh, kw).

    ``padding`` is a number, one per dimension, "same" or "valid".

    >>> import gradtape as torch
    >>> image, kernel = torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2)
    >>> torch.nn.functional.conv2d(image, kernel)
    tensor([[[[4., 4.],
              [4., 4.]]]])
    """,
)
conv3d = _conv(3, "Convolve (N, C, depth, height, width).")


def _conv_transpose(dims: int):
    """Return the transposed convolution over ``dims`` spatial dimensions."""
    name = f"conv_transpose{dims}d"

    @autocasts(name)
    @renamed(
        name, f"Spread each input value over a window: the adjoint of conv{dims}d."
    )
    def conv_transpose(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Tensor:
        check_tensors(name, input=input, weight=weight)
        batch, single = _batched(input, dims, name)
        steps = spread(stride, dims, "stride", name)
        border = spread(padding, dims, "padding", name)
        extra = spread(output_padding, dims, "output_padding", name)
        gaps = spread(dilation, dims, "dilation", name)
        check_transposed(batch, weight, bias, steps, border, gaps, extra, groups)
        how = (steps, border, gaps, True, extra, groups)
        found = convolution(batch, weight, bias, *how)
        return found.squeeze(0) if single else found

    FUNCTIONS[name] = conv_transpose
    return conv_transpose


conv_transpose1d, conv_transpose2d, conv_transpose3d = map(_conv_transpose, (1, 2, 3))


# ---- windows and borders ----


def unfold(
    input: Tensor,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Tensor:
    """List the windows of images as columns: (N, C * kernel, windows)."""
    names = ("kernel_size", "dilation", "padding", "stride")
    given = (kernel_size, dilation, padding, stride)
    kernel, gaps, pads, steps = map(pair, given, names)
    check_unfold(input, Window(kernel, steps, pads, gaps))
    return im2col(input, kernel, gaps, pads, steps)


def fold(
    input: Tensor,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Tensor:
    """Add up windows where they overlap: the adjoint of unfold."""
    names = ("output_size", "kernel_size", "dilation", "padding", "stride")
    given = (output_size, kernel_size, dilation, padding, stride)
    size, kernel, gaps, pads, steps = map(pair, given, names)
    check_fold(input, size, Window(kernel, steps, pads, gaps))
    return col2im(input, size, kernel, gaps, pads, steps)


def pad(
    input: Tensor,
    pad: Sequence[int],
    mode: str = "constant",
    value: float | None = None,
) -> Tensor:
    """Surround the last dimensions; ``pad`` lists (before, after), last one first.

    ``mode`` is "constant", "reflect", "replicate" or "circular".
    """
    check_tensor(input, "pad")
    widths = sizes(pad, "pad", "pad", 2)
    if len(widths) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if mode == "constant":
        if len(widths) > 2 * input.dim():
            raise RuntimeError(_TOO_WIDE.format(pad=len(widths), ndim=input.dim()))
        if value is not None and not isinstance(value, (int, float, np.number, Tensor)):
            raise TypeError(_PAD_VALUE.format(type_name(value)))
        return constant_pad_nd(input, widths, 0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    kinds = {"reflect": "reflection", "replicate": "replication", "circular": ""}
    if mode not in kinds:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    check_border_rank(input, widths)
    dims = len(widths) // 2
    if mode == "circular":
        return _circular(input, widths)
    check_border(input, widths, mode == "reflect")
    return getattr(tensor_ops, f"{kinds[mode]}_pad{dims}d")(input, widths)


def _circular(input: Tensor, widths: tuple[int, ...]) -> Tensor:
    """Continue each dimension with what is at its other end."""
    cat = FUNCTIONS["cat"]
    given = input
    for back in range(len(widths) // 2):
        before, after = widths[2 * back : 2 * back + 2]
        dim = input.dim() - 1 - back
        size = input.shape[dim]
        if before > size or after > size:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if before + after + size < 0:
            raise RuntimeError(
                "Negative padding value is resulting in an empty dimension"
            )
        # What wraps around is of what negative padding left over.
        begin, end = max(-before, 0), size - max(-after, 0)
        parts = [input.narrow(dim, begin, end - begin)]
        if before > 0:
            parts.insert(0, input.narrow(dim, end - before, before))
        if after > 0:
            parts.append(input.narrow(dim, begin, after))
        input = cat(parts, dim) if len(parts) > 1 else parts[0]
    return input.clone() if input is given or input._is_view() else input
