"""Pooling as functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..._autocast.autocast import autocasts
from ..._dispatch.declare import FUNCTIONS
from ..._dtypes import int64
from ..._tensor.tensor import Tensor
from ...ops._kernels.sliding_windows import Window, spread
from ...ops._support.out_argument import SAME_DTYPE, with_out
from ...ops.nn import pool as ops
from ...ops.tensor.determinism import check_determinism
from ._pool_checks import check, check_kind, check_unpool, sizes, unpooled_size

__all__ = ["avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d", "lp_pool2d"]
__all__ += ["lp_pool3d", "max_pool1d", "max_pool2d", "max_pool3d", "max_unpool1d"]
__all__ += ["max_unpool2d", "max_unpool3d"]

Indices = tuple[Tensor, Tensor]


# ---- max ----


def _max(
    dims: int,
    input: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    rows: bool = False,
) -> Indices:
    name = f"max_pool{dims}d"
    same = stride is None or (isinstance(stride, (list, tuple)) and not stride)
    if same:
        stride = kernel_size
    given = sizes(
        dims,
        name,
        kernel_size=kernel_size,
        stride=stride,
        padding=padding,
        dilation=dilation,
    )
    check(input, dims, name, Window._make(given), ceil_mode, rows)
    if same and dims > 1:
        given[1] = ()  # a node says that no stride was given
    if dims == 1 and rows and not input.requires_grad:
        check_kind(input, "max_pool1d_impl", "iubc")
    else:
        check_kind(input, f"max_pool{max(dims, 2)}d", "bc")
    if dims == 3:
        return ops.max_pool3d_with_indices(input, *given, ceil_mode)
    if dims == 2:
        return ops.max_pool2d_with_indices(input, *given, ceil_mode)
    kernel, steps, pads, gaps = (
        (each, *values) for each, values in zip((1, 1, 0, 1), given, strict=True)
    )
    values, indices = ops.max_pool2d_with_indices(
        input.unsqueeze(-2), kernel, steps, pads, gaps, ceil_mode
    )
    return values.squeeze(-2), indices.squeeze(-2)


def max_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Return the largest value of each window; with ``return_indices`` also where."""
    rows = not return_indices
    found = _max(1, input, kernel_size, stride, padding, dilation, ceil_mode, rows)
    return found if return_indices else found[0]


def max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Return the largest value of each window; with ``return_indices`` also where."""
    found = _max(2, input, kernel_size, stride, padding, dilation, ceil_mode)
    return found if return_indices else found[0]


@autocasts("max_pool3d")
def max_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Return the largest value of each window; with ``return_indices`` also where."""
    found = _max(3, input, kernel_size, stride, padding, dilation, ceil_mode)
    return found if return_indices else found[0]


def _unpool(
    dims: int,
    input: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    output_size: Sequence[int] | None,
) -> Tensor:
    kernel, pads = sizes(dims, "max_unpool", kernel_size=kernel_size, padding=padding)
    steps = kernel if stride is None else spread(stride, dims, "stride", "max_unpool")
    if indices.shape != input.shape:
        more = [1] if dims == 1 else []
        raise RuntimeError(
            "Expected shape of indices to be same as that of the input tensor "
            f"({[*input.shape, *more]}) but got indices tensor with shape: "
            f"{[*indices.shape, *more]}"
        )
    spatial = input.shape[-dims:]
    target = tuple(
        (n - 1) * s + k - 2 * p
        for n, s, k, p in zip(spatial, steps, kernel, pads, strict=True)
    )
    if output_size is not None:
        target = unpooled_size(output_size, target, steps)
    check_unpool(input, indices, dims, target)
    check_determinism(f"max_unpooling{max(dims, 2)}d_forward_out")
    if dims == 1:
        found = ops.max_unpool2d(
            input.unsqueeze(-1), indices.unsqueeze(-1), (*target, 1)
        )
        return found.squeeze(-1)
    unpool = ops.max_unpool2d if dims == 2 else ops.max_unpool3d
    return unpool(input, indices, target)


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Put values back where max_pool1d took them from; zeros elsewhere."""
    return _unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Put values back where max_pool2d took them from; zeros elsewhere."""
    return _unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Put values back where max_pool3d took them from; zeros elsewhere."""
    return _unpool(3, input, indices, kernel_size, stride, padding, output_size)


# ---- average ----


def _average(
    dims: int,
    input: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    *options: Any,
) -> Tensor:
    name = f"avg_pool{dims}d"
    same = stride is None or (isinstance(stride, (list, tuple)) and not stride)
    if same:
        stride = kernel_size
    given = sizes(dims, name, kernel_size=kernel_size, stride=stride, padding=padding)
    window = Window._make((*given, (1,) * dims))
    check(input, dims, name, window, options[0])
    if options[2] == 0:
        raise RuntimeError("divisor must be not zero")
    if same and dims > 1:
        given[1] = ()
    if input.dtype is not int64:
        label = "avg_pool3d_out_frame" if dims == 3 else "avg_pool2d"
        halves = dims == 3 and input.element_size() == 2
        check_kind(input, label, "iubcfV" if halves else "iubc")
    if dims == 3:
        return ops.avg_pool3d(input, *given, *options)
    if dims == 2:
        return ops.avg_pool2d(input, *given, *options)
    wide = [(e, *v) for e, v in zip((1, 1, 0), given, strict=True)]
    return ops.avg_pool2d(input.unsqueeze(-2), *wide, *options).squeeze(-2)


def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Return the mean of each window."""
    options = (ceil_mode, count_include_pad, None)
    return _average(1, input, kernel_size, stride, padding, *options)


@with_out(SAME_DTYPE)
def avg_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Return the mean of each window."""
    options = (ceil_mode, count_include_pad, divisor_override)
    return _average(2, input, kernel_size, stride, padding, *options)


@autocasts("avg_pool3d")
@with_out(SAME_DTYPE)
def avg_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Return the mean of each window."""
    options = (ceil_mode, count_include_pad, divisor_override)
    return _average(3, input, kernel_size, stride, padding, *options)


def _lp(
    dims: int,
    input: Tensor,
    norm_type: float,
    kernel_size: Any,
    stride: Any,
    ceil_mode: bool,
) -> Tensor:
    if norm_type in (math.inf, -math.inf):
        # The smallest size is found as the largest of the sizes below zero.
        sign = 1 if norm_type > 0 else -1
        largest = (max_pool1d, max_pool2d, max_pool3d)[dims - 1]
        return sign * largest(
            sign * input.abs(), kernel_size, stride, ceil_mode=ceil_mode
        )
    kernel = spread(kernel_size, dims, "kernel_size", "lp_pool")
    count = 1
    for size in kernel:
        count *= size
    options = (ceil_mode, True, None)
    mean = _average(dims, input.pow(norm_type), kernel, stride, 0, *options)
    powered = mean.sign() * FUNCTIONS["relu"](mean.abs()) * count
    return powered.pow(1.0 / norm_type)


def lp_pool1d(
    input: Tensor,
    norm_type: float,
    kernel_size: Any,
    stride: Any = None,
    ceil_mode: bool = False,
) -> Tensor:
    """Return the p-norm of each window."""
    return _lp(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    input: Tensor,
    norm_type: float,
    kernel_size: Any,
    stride: Any = None,
    ceil_mode: bool = False,
) -> Tensor:
    """Return the p-norm of each window."""
    return _lp(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(
    input: Tensor,
    norm_type: float,
    kernel_size: Any,
    stride: Any = None,
    ceil_mode: bool = False,
) -> Tensor:
    """Return the p-norm of each window."""
    return _lp(3, input, norm_type, kernel_size, stride, ceil_mode)
