"""Refusing convolutions that cannot be, in PyTorch's words."""

from __future__ import annotations

from .._dtypes import CPP_TYPE
from .._tensor import Tensor

_KERNEL_TOO_BIG = (
    "Calculated padded input size per channel: ({padded}). Kernel size: ({kernel}). "
    "Kernel size can't be greater than actual input size"
)


def _common(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
    outputs: int,
) -> None:
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
    if any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(d <= 0 for d in dilation):
        raise RuntimeError("dilation should be greater than zero")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if weight.dim() < 3:
        raise RuntimeError("weight should have at least three dimensions")
    if weight.dim() != input.dim():
        raise RuntimeError(
            f"Expected {weight.dim()}-dimensional input for "
            f"{weight.dim()}-dimensional weight {list(weight.shape)}, but got "
            f"{input.dim()}-dimensional input of size {list(input.shape)} instead"
        )
    if bias is not None and (bias.dim() != 1 or bias.shape[0] != outputs):
        kind = "transposed=1, weight" if outputs != weight.shape[0] else "weight"
        raise RuntimeError(
            f"Given {kind} of size {list(weight.shape)}, expected bias to be "
            f"1-dimensional with {outputs} elements, but got bias of size "
            f"{list(bias.shape)} instead"
        )


def _check_groups(weight: Tensor, groups: int) -> None:
    sizes = list(weight.shape)
    if sizes[0] < groups or sizes[0] % groups:
        words, told = "at least", f"{sizes}"
        if sizes[0] >= groups:
            words, told = "divisible by", f"[{sizes}]"
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be {words} {groups} at "
            f"dimension 0, but got weight of size {told} instead"
        )


def check_convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
) -> None:
    """Refuse sizes, types and options that do not fit together."""
    how = (stride, padding, dilation, groups)
    _common(input, weight, bias, *how, weight.shape[0] if weight.dim() else 0)
    _check_groups(weight, groups)
    sizes = list(weight.shape)
    channels = sizes[1] * groups
    if input.shape[1] != channels:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {sizes}, expected "
            f"input{list(input.shape)} to have {channels} channels, but got "
            f"{input.shape[1]} channels instead"
        )
    padded = [n + 2 * p for n, p in zip(input.shape[2:], padding, strict=True)]
    reach = [d * (k - 1) + 1 for k, d in zip(sizes[2:], dilation, strict=True)]
    if any(p < r for p, r in zip(padded, reach, strict=True)):
        raise RuntimeError(
            _KERNEL_TOO_BIG.format(
                padded=" x ".join(map(str, padded)), kernel=" x ".join(map(str, reach))
            )
        )


def check_transposed(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    output_padding: tuple[int, ...],
    groups: int,
) -> None:
    """Refuse a transposed convolution whose parts do not fit together."""
    outputs = weight.shape[1] * groups if weight.dim() > 1 else 0
    _common(input, weight, bias, stride, padding, dilation, groups, outputs)
    _check_groups(weight, groups)
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


def _each_axis(
    output_padding: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]
) -> str:
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
