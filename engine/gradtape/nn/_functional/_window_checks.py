"""Refusing windows, borders and shuffles that cannot be, in PyTorch's words."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

from ..._tensor.tensor import Tensor
from ...ops._kernels.sliding_windows import Window
from ...ops._support.arguments import check_tensor, is_integer, wrap_dim

Sizes = tuple[int, ...]

_SUPPORTED: Final = """\
Padding size {} is not supported for {}D input tensor.
Supported combinations for non-constant padding:
  - 2D or 3D input: padding size = 2 (pads last dimension)
  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)
  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"""


def pair(value: Any, name: str) -> Sizes:
    """Return a number twice, or the two numbers that were given."""
    given = tuple(int(v) for v in ((value, value) if is_integer(value) else value))
    if len(given) != 2:
        raise RuntimeError(
            f"It is expected {name} equals to 2, but got size {len(given)}"
        )
    return given


def _check_numbers(window: Window, order: Sequence[str]) -> None:
    told = {
        "kernel": ("kernel size should be greater than zero", "kernel", window.kernel),
        "stride": ("stride should be greater than zero", "stride", window.stride),
        "dilation": (
            "dilation should be greater than zero",
            "dilation",
            window.dilation,
        ),
        "padding": ("padding should be non-negative", "pad", window.padding),
    }
    for name in order:
        sentence, word, sizes = told[name]
        if min(sizes) < (name != "padding"):
            height, width = sizes
            raise RuntimeError(
                f"{sentence}, but got {word}_height: {height} {word}_width: {width}"
            )


def check_unfold(input: Tensor, window: Window) -> None:
    """Refuse images and windows that unfold() cannot list."""
    check_tensor(input, "im2col")
    _check_numbers(window, ("kernel", "dilation", "padding", "stride"))
    if input.dim() < 3:
        wrap_dim(input.dim(), input.dim())
    if input.dim() not in (3, 4) or 0 in input.shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other"
            f" non-zero dimensions for input, but got: {list(input.shape)}"
        )
    spatial = tuple(input.shape[-2:])
    blocks = window.outputs(spatial)
    if min(blocks) < 1:
        raise RuntimeError(
            f"Given input with spatial size {spatial}, kernel_size={window.kernel}, "
            f"dilation={window.dilation}, padding={window.padding}, calculated shape of"
            f" the array of sliding blocks as {tuple(max(n, 0) for n in blocks)}, but "
            "its components must be at least one."
        )


def check_fold(input: Tensor, output_size: Sizes, window: Window) -> None:
    """Refuse columns that are not those of windows in images of a size."""
    check_tensor(input, "col2im")
    _check_numbers(window, ("kernel", "stride", "dilation", "padding"))
    shape = list(input.shape)
    if input.dim() not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size"
            f" and non-zero dimensions for input, but got: {shape}"
        )
    rows, columns = shape[-2:]
    if rows % prod(window.kernel):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of "
            f"kernel_size, but got input.size(1)={rows} and "
            f"kernel_size={window.kernel}."
        )
    down, along = (
        (n + 2 * p - reach) // s + 1
        for n, p, reach, s in zip(
            output_size, window.padding, window.reach, window.stride, strict=True
        )
    )
    if min(down, along) < 1:
        raise RuntimeError(
            f"Given output_size={output_size}, kernel_size={window.kernel}, "
            f"dilation={window.dilation}, padding={window.padding}, "
            f"stride={window.stride}, calculated shape of the array of sliding blocks "
            f"as ({down}, {along}), which is too small (non-positive)"
        )
    if columns != down * along:
        raise RuntimeError(
            f"Given output_size={output_size}, kernel_size={window.kernel}, "
            f"dilation={window.dilation}, padding={window.padding}, "
            f"stride={window.stride}, expected size of input's dimension 2 to match the"
            f" calculated number of sliding blocks {down} * {along} = {down * along}, "
            f"but got input.size(2)={columns}."
        )


def check_border(input: Tensor, widths: Sizes, reflects: bool) -> None:
    """Refuse borders that are wider than the image, or images that have no elements."""
    dims = len(widths) // 2
    shape = list(input.shape)
    if 0 in shape[-dims - 1 :]:
        raise RuntimeError(
            f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with possibly 0 "
            f"batch size and other non-zero dimensions for input, but got: {shape}"
        )
    ends = [(widths[i], widths[i + 1]) for i in range(0, 2 * dims, 2)]
    for back, (begin, end) in enumerate(ends):
        dim = len(shape) - 1 - back
        if reflects and max(begin, end) >= shape[dim]:
            raise RuntimeError(
                f"Argument #{4 + 2 * back}: Padding size should be less than the "
                f"corresponding input dimension, but got: padding ({begin}, {end}) at "
                f"dimension {dim} of input {shape}"
            )
    begin, end = ends[0]
    if dims == 1 and shape[-1] + begin + end < 1:
        raise RuntimeError(
            f"input (W: {shape[-1]}) is too small. Calculated output W: "
            f"{shape[-1] + begin + end}"
        )


def check_border_rank(input: Tensor, widths: Sizes) -> None:
    """Refuse borders of dimensions that the input does not have."""
    dims = len(widths) // 2
    if dims not in (1, 2, 3) or input.dim() not in (dims + 1, dims + 2):
        raise NotImplementedError(_SUPPORTED.format(len(widths), input.dim()))


def check_pixels(name: str, input: Tensor, word: str, factor: int) -> None:
    """Refuse what pixel_shuffle() and its reverse cannot rearrange."""
    check_tensor(input, name)
    if input.dim() < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with "
            f"{input.dim()} dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {word}, but got {factor}")
    if name == "pixel_shuffle":
        return
    for axis, dim in (("height", -2), ("width", -1)):
        if input.size(dim) % factor:
            raise RuntimeError(
                f"{name} expects {axis} to be divisible by {word}, but "
                f"input.size({dim})={input.size(dim)} is not divisible by {factor}"
            )


def check_channels(input: Tensor, groups: int) -> None:
    """Refuse what channel_shuffle() cannot rearrange."""
    check_tensor(input, "channel_shuffle")
    if input.dim() < 3:
        raise RuntimeError(
            "channel_shuffle expects input with > 2 dims, but got input with sizes "
            f"{list(input.shape)}"
        )
    if groups <= 0:
        raise RuntimeError(
            "Number of groups to divide channels in must be positive. Value of "
            f"groups:{groups}"
        )
    channels = input.size(1)
    if channels % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels "
            f"and {groups} groups."
        )
