"""Refusing convolutions that cannot be, in PyTorch's words."""

from __future__ import annotations

import functools

from ..._dtypes import CPP_TYPE
from ..._tensor.tensor import Tensor
from .._kernels.sliding_windows import Sizes, Window

Shapes = tuple[Sizes, Sizes, Sizes | None]
"""Of input, weight and bias."""

_TOO_SMALL = (
    "Given input size per channel: ({given}). Calculated output size per channel: "
    "({found}). Output size is too small"
)
_KERNEL_TOO_BIG = (
    "Calculated padded input size per channel: ({padded}). Kernel size: ({kernel}). "
    "Kernel size can't be greater than actual input size"
)


def _check_types(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    if bias is not None and bias.dtype is not input.dtype:
        raise RuntimeError(
            f"Input type ({CPP_TYPE[input.dtype]}) and bias type "
            f"({CPP_TYPE[bias.dtype]}) should be the same"
        )
    if weight.dtype is not input.dtype:
        raise RuntimeError(
            f"expected scalar type {input.dtype.cpp_name} but found "
            f"{weight.dtype.cpp_name}"
        )


def _check_options(
    shapes: Shapes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
    outputs: int,
    output_padding: Sizes | None = None,
) -> None:
    input, weight, bias = shapes
    dims = len(weight) - 2
    if dims > 0 and len(stride) not in (1, dims):
        raise RuntimeError(
            f"expected stride to be a single integer value or a list of {dims} values "
            f"to match the convolution dimensions, but got stride={list(stride)}"
        )
    if any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    if output_padding and min(output_padding) < 0:
        raise RuntimeError("negative output_padding is not supported")
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(d <= 0 for d in dilation):
        plain = output_padding is not None or min(dilation) < 0
        shown = [1, *dilation] if len(dilation) == 1 else list(dilation)  # as planes
        given = "" if plain else f", but got {shown}"
        raise RuntimeError(f"dilation should be greater than zero{given}")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if len(weight) < 3:
        raise RuntimeError("weight should have at least three dimensions")
    if len(weight) != len(input):
        raise RuntimeError(
            f"Expected {len(weight)}-dimensional input for "
            f"{len(weight)}-dimensional weight {list(weight)}, but got "
            f"{len(input)}-dimensional input of size {list(input)} instead"
        )
    if bias is not None and (len(bias) != 1 or bias[0] != outputs):
        kind = "transposed=1, weight" if outputs != weight[0] else "weight"
        raise RuntimeError(
            f"Given {kind} of size {list(weight)}, expected bias to be "
            f"1-dimensional with {outputs} elements, but got bias of size "
            f"{list(bias)} instead"
        )
    if weight[0] < groups or weight[0] % groups:
        words, told = "at least", f"{list(weight)}"
        if weight[0] >= groups:
            words, told = "divisible by", f"[{list(weight)}]"
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be {words} {groups} at "
            f"dimension 0, but got weight of size {told} instead"
        )


def check_convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
) -> None:
    """Refuse sizes, types and options that do not fit together."""
    _check_types(input, weight, bias)
    shapes = _shapes_of(input, weight, bias)
    _check_sizes(shapes, stride, padding, dilation, groups)


def _shapes_of(input: Tensor, weight: Tensor, bias: Tensor | None) -> Shapes:
    return (
        input._data.shape,
        weight._data.shape,
        None if bias is None else bias._data.shape,
    )


@functools.lru_cache(1024)  # what fits, fits in every step of a program
def _check_sizes(
    shapes: Shapes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> None:
    input, weight, _ = shapes
    outputs = weight[0] if weight else 0
    _check_options(shapes, stride, padding, dilation, groups, outputs)
    channels = weight[1] * groups
    if input[1] != channels:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(weight)}, expected "
            f"input{list(input)} to have {channels} channels, but got "
            f"{input[1]} channels instead"
        )
    padded = [n + 2 * p for n, p in zip(input[2:], padding, strict=True)]
    reach = [d * (k - 1) + 1 for k, d in zip(weight[2:], dilation, strict=True)]
    if any(p < r for p, r in zip(padded, reach, strict=True)):
        raise RuntimeError(
            _KERNEL_TOO_BIG.format(
                padded=" x ".join(map(str, padded)), kernel=" x ".join(map(str, reach))
            )
        )
    _check_not_empty(input)


def _check_not_empty(input: Sizes) -> None:
    if 0 in input[2:] and 0 not in input[:2]:
        shown = [*input[:2], 1, input[2]] if len(input) == 3 else list(input)
        raise RuntimeError(
            "Only zero batch or zero channel inputs are supported, but got input "
            f"shape: {shown}"
        )


def check_transposed(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    output_padding: Sizes,
    groups: int,
) -> None:
    """Refuse a transposed convolution whose parts do not fit together."""
    outputs = weight.shape[1] * groups if weight.dim() > 1 else 0
    _check_types(input, weight, bias)
    shapes = _shapes_of(input, weight, bias)
    _check_options(shapes, stride, padding, dilation, groups, outputs, output_padding)
    if input.shape[1] != weight.shape[0]:
        raise RuntimeError(
            f"Given transposed=1, weight of size {list(weight.shape)}, expected "
            f"input{list(input.shape)} to have {weight.shape[0]} channels, but got "
            f"{input.shape[1]} channels instead"
        )
    for extra, step, gap in zip(output_padding, stride, dilation, strict=True):
        if extra >= step and extra >= gap:
            raise RuntimeError(
                "output padding must be smaller than either stride or dilation, but "
                f"got {_each_axis(output_padding, stride, dilation)}"
            )
    _check_not_empty(shapes[0])
    window = Window(shapes[1][2:], stride, padding, dilation)
    sizes = window.spread(shapes[0][2:], output_padding)
    if min(sizes) < 1 and shapes[0][0]:
        before = "1 x " if len(sizes) == 1 else ""  # an image one pixel high
        given, found = (
            before + " x ".join(map(str, each)) for each in (shapes[0][2:], sizes)
        )
        raise RuntimeError(_TOO_SMALL.format(given=given, found=found))


def _each_axis(output_padding: Sizes, stride: Sizes, dilation: Sizes) -> str:
    axes = ("depth", "height", "width")[-len(stride) :]
    if len(stride) == 1:
        axes = ("height", "width")  # PyTorch computes it as an image one pixel high
        output_padding, stride, dilation = (
            (first, *sizes)
            for first, sizes in ((0, output_padding), (1, stride), (1, dilation))
        )
    named = (
        ("output_padding", output_padding),
        ("stride", stride),
        ("dilation", dilation),
    )
    return " ".join(
        f"{name}_{axis}: {size}"
        for name, sizes in named
        for axis, size in zip(axes, sizes, strict=True)
    )
