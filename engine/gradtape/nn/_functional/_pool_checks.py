"""Reading pooling windows, and refusing those that cannot be."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ..._dtypes import int64
from ..._tensor.tensor import Tensor
from ...ops._kernels.sliding_windows import Window, spread
from ...ops._support.arguments import check_tensor


def sizes(dims: int, name: str, **given: Any) -> list[tuple[int, ...]]:
    """Repeat each option per spatial dimension, or check how many were given."""
    return [spread(value, dims, key, name) for key, value in given.items()]


def check_kind(input: Tensor, kernel: str, kinds: str) -> None:
    """Refuse dtypes of the kinds that PyTorch's kernel leaves out."""
    if input._data.dtype.kind in kinds:
        raise NotImplementedError(
            f"\"{kernel}\" not implemented for '{input.dtype.cpp_name}'"
        )


def check(
    input: Tensor,
    dims: int,
    name: str,
    window: Window,
    ceil_mode: bool,
    rows: bool = False,
) -> None:
    """Refuse windows that do not fit, in PyTorch's words.

    ``rows``: in those of its max_pool1d, which looks at rows itself.
    """
    check_tensor(input, name)
    kernel, stride, padding, dilation = window
    if input.dim() not in (dims + 1, dims + 2):
        raise _rank_error(input, dims, name)
    if dims == 1 and name.startswith("max"):
        if kernel[0] <= 0:
            raise RuntimeError(
                f"{name}() kernel_size must be greater than zero, but got {kernel[0]}"
            )
        if 0 in input.shape[-2:]:
            raise _rank_error(input, dims, name)
        if rows:
            _check_row(name, window)
    if any(s <= 0 for s in stride):
        raise RuntimeError(
            "stride should not be zero"
            if dims > 1
            else "stride must be greater than zero"
        )
    if any(k <= 0 for k in kernel):
        raise RuntimeError(
            "kernel size should be greater than zero, but got " + _list("k", kernel)
        )
    if any(d <= 0 for d in dilation):
        raise RuntimeError(
            "dilation should be greater than zero, but got "
            + _list("dilation", dilation)
        )
    for pad, size, reach in zip(padding, kernel, window.reach, strict=True):
        if pad < 0 or pad > reach // 2 or pad > size * reach:
            raise RuntimeError(
                "pad should be at most half of effective kernel size, but got pad="
                f"{pad}, kernel_size={size} and dilation={dilation[0]}"
                if pad >= 0
                else f"pad must be non-negative, but got pad: {pad}"
            )
    _check_channels(input, dims, name)
    outputs = window.outputs(tuple(input.shape[-dims:]), ceil_mode)
    if any(n < 1 for n in outputs):
        if rows:
            raise RuntimeError(f"{name}() Invalid computed output size: {outputs[0]}")
        before = "x".join(map(str, input.shape[-dims - 1 :]))
        after = "x".join(map(str, (input.shape[-dims - 1], *outputs)))
        raise RuntimeError(
            f"Given input size: ({before}). Calculated output size: ({after}). Output "
            "size is too small"
        )


def _check_row(name: str, window: Window) -> None:
    """Refuse numbers for max_pool1d, which has sentences of its own."""
    (size,), (stride,), (padding,), (dilation,) = window
    fault = ""
    if stride <= 0:
        fault = f"stride must be greater than zero, but got {stride}"
    elif padding < 0:
        fault = f"padding must be non-negative, but got {padding}"
    elif padding > size // 2:
        fault = (
            f"padding should be at most half of kernel size, but got padding={padding} "
            f"and kernel_size={size}"
        )
    elif dilation <= 0:
        fault = f"dilation must be greater than zero, but got {dilation}"
    if fault:
        raise RuntimeError(f"{name}() {fault}")


def _check_channels(input: Tensor, dims: int, name: str) -> None:
    """Refuse images without channels or elements; there may be no image at all."""
    shape = list(input.shape)
    if dims == 2 and 0 in shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for "
            f"input, but got:{shape}"
        )
    if dims == 3 and 0 in shape[-4:]:
        template = f"{name}_with_indices" if name.startswith("max") else name
        raise RuntimeError(
            f"{template}_out_cpu_template(): Expected input's non-batch dimensions to "
            f"have positive length, but input has a shape of {shape} and non-batch "
            f"dimension {max(shape[-4:].index(0) - 1, 0)} has length zero!"
        )


def unpooled_size(
    given: Sequence[int], default: tuple[int, ...], stride: tuple[int, ...]
) -> tuple[int, ...]:
    """Return the size that max unpooling was asked for, near the one it would take.

    Raises ValueError for one that no pooling could have had.
    """
    dims = len(default)
    if len(given) not in (dims, dims + 2):
        raise ValueError(
            f"output_size should be a sequence containing {dims} or {dims + 2} "
            f"elements, but it has a length of '{len(given)}'"
        )
    wanted = tuple(int(n) for n in given)[-dims:]
    for d in range(dims):
        low, high = default[d] - stride[d], default[d] + stride[d]
        if not low < wanted[d] < high:
            raise ValueError(
                f'invalid output_size "{wanted}" (dim {d} must be between {low} and '
                f"{high})"
            )
    return wanted


def check_unpool(
    input: Tensor, indices: Tensor, dims: int, target: tuple[int, ...]
) -> None:
    """Refuse places that are not in the planes that max unpooling fills."""
    if indices.dtype is not int64:
        raise RuntimeError(
            "elements in indices should be type int64 but got: "
            f"{indices.dtype.cpp_name}"
        )
    flat = max(dims, 2)  # one dimension is unpooled as a plane of width 1
    if input.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"Input to max_unpooling{flat}d should be a {flat + 1}d or {flat + 2}d "
            f"Tensor, but got a tensor with {input.dim() + flat - dims} dimensions."
        )
    for d in range(input.dim() - dims - 1, input.dim()):
        if not input.size(d):
            raise RuntimeError(
                f"max_unpooling{flat}d_forward_out_cpu(): Expected input to have "
                f"non-zero size for non-batch dimensions, but got {list(input.shape)} "
                f"with dimension {d} being empty."
            )
    places = indices._data
    wrong = (places < 0) | (places >= prod(target))
    if wrong.any():
        planes = "x".join(map(str, (*target, 1)[:flat] if dims == 1 else target))
        raise RuntimeError(
            f"Found an invalid max index: {int(places[wrong][0])} (output volumes are "
            f"of size {planes})"
        )


def _rank_error(input: Tensor, dims: int, name: str) -> Exception:
    shown = f"[{', '.join(map(str, input.shape))}]"
    if dims == 1 and name.startswith("max"):
        return RuntimeError(
            f"{name}: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch "
            f"size for input, but got:{shown}"
        )
    if dims == 1:
        return RuntimeError(
            f"Expected 2 to 3 dimensions, but got {input.dim()}-dimensional tensor for "
            f"argument #1 'self' (while checking arguments for {name})"
        )
    if name.startswith("avg"):
        ndim = max(input.dim(), 1)
        if input.dim() <= dims < 3:
            return IndexError(
                "Dimension out of range (expected to be in range of "
                f"[{-ndim}, {ndim - 1}], but got {-dims - 1})"
            )
    return RuntimeError(
        f"non-empty {dims + 1}D or {dims + 2}D (batch mode) tensor expected for input"
    )


def _list(name: str, sizes: Sequence[int]) -> str:
    axes = ("T", "H", "W")[-len(sizes) :]
    return " ".join(f"{name}{a}: {s}" for a, s in zip(axes, sizes, strict=True))
