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
from ...ops._support.signed import numbered
from ...ops.nn import pool as ops
from ...ops.tensor.determinism import check_determinism
from ._pool_checks import check, check_kind, check_unpool, sizes, unpooled_size

__all__ = ["avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d", "lp_pool2d"]
__all__ += ["lp_pool3d", "max_pool1d", "max_pool2d", "max_pool3d", "max_unpool1d"]
__all__ += ["max_unpool2d", "max_unpool3d"]
__all__ += ["fractional_max_pool2d", "fractional_max_pool3d"]

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
    rows: bool,
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


def _max_pool(dims: int):
    def max_pool(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        """Return each window's largest value; with ``return_indices`` also where."""
        rows = dims == 1 and not return_indices
        how = (kernel_size, stride, padding, dilation, ceil_mode, rows)
        found = _max(dims, input, *how)
        return found if return_indices else found[0]

    return numbered(max_pool, dims)


max_pool1d, max_pool2d = _max_pool(1), _max_pool(2)
max_pool3d = autocasts("max_pool3d")(_max_pool(3))


def _max_unpool(dims: int):
    def max_unpool(
        input: Tensor,
        indices: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        output_size: Sequence[int] | None = None,
    ) -> Tensor:
        """Put values back where max_pool took them from; zeros elsewhere."""
        name = "max_unpool"
        kernel, pads = sizes(dims, name, kernel_size=kernel_size, padding=padding)
        steps = kernel if stride is None else spread(stride, dims, "stride", name)
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

    return numbered(max_unpool, dims)


max_unpool1d, max_unpool2d, max_unpool3d = map(_max_unpool, (1, 2, 3))


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


def _avg_pool(dims: int):
    def avg_pool(
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
        return _average(dims, input, kernel_size, stride, padding, *options)

    return with_out(SAME_DTYPE)(numbered(avg_pool, dims))


avg_pool2d, avg_pool3d = _avg_pool(2), autocasts("avg_pool3d")(_avg_pool(3))


def _lp_pool(dims: int):
    def lp_pool(
        input: Tensor,
        norm_type: float,
        kernel_size: Any,
        stride: Any = None,
        ceil_mode: bool = False,
    ) -> Tensor:
        """Return the p-norm of each window."""
        if norm_type in (math.inf, -math.inf):
            # The smallest size is found as the largest of the sizes below zero.
            sign = 1 if norm_type > 0 else -1
            largest = (max_pool1d, max_pool2d, max_pool3d)[dims - 1]
            sizes = sign * input.abs()
            return sign * largest(sizes, kernel_size, stride, ceil_mode=ceil_mode)
        kernel = spread(kernel_size, dims, "kernel_size", "lp_pool")
        options = (ceil_mode, True, None)
        mean = _average(dims, input.pow(norm_type), kernel, stride, 0, *options)
        powered = mean.sign() * FUNCTIONS["relu"](mean.abs()) * math.prod(kernel)
        return powered.pow(1.0 / norm_type)

    return numbered(lp_pool, dims)


lp_pool1d, lp_pool2d, lp_pool3d = map(_lp_pool, (1, 2, 3))


# ---- windows at random places ----

_COUNTS = {2: "Ints", 3: "three Ints"}


def _fractional(
    dims: int,
    input: Tensor,
    kernel_size: Any,
    output_size: Any,
    output_ratio: Any,
    samples: Tensor | None,
) -> tuple[Tensor, Tensor]:
    name = f"fractional_max_pool{dims}d"
    if output_size is None and output_ratio is None:
        raise ValueError(
            f"{name} requires specifying either an output_size or an output_ratio"
        )
    if output_size is None:
        ratios = _each(output_ratio, dims)
        if len(ratios) > dims:
            raise ValueError(
                f"{name} requires output_ratio to either be a single Int or tuple of "
                "Ints."
            )
        spatial = input.shape[-dims:]
        output_size = [int(n * r) for n, r in zip(spatial, ratios, strict=True)]
    kernel, outputs = _each(kernel_size, dims), _each(output_size, dims)
    if samples is None:
        batch = 1 if input.dim() == dims + 1 else input.size(0)
        shape = (batch, input.size(-dims - 1), dims)
        samples = FUNCTIONS["rand"](*shape, dtype=input.dtype, device=input.device)
    assert samples is not None
    for what, given in (("kernel_size", kernel), ("output_size", outputs)):
        if len(given) != dims:
            raise RuntimeError(
                f"{name}: {what} must either be a single Int or tuple of "
                f"{_COUNTS[dims]}"
            )
    _check_fractional(dims, input, samples)
    batch = input.shape[0] if input.dim() == dims + 2 else 1
    op = ops.fractional_max_pool2d if dims == 2 else ops.fractional_max_pool3d
    return op(input, kernel, outputs, samples[:batch])


def _check_fractional(dims: int, input: Tensor, samples: Tensor) -> None:
    """Refuse empty planes, and random samples of another shape than the input's."""
    shape, name = list(input.shape), f"fractional_max_pool{dims}d"
    for dim in range(len(shape) - dims - 1, len(shape)):
        if not shape[dim]:
            raise RuntimeError(
                f"{name}{'_out' * (dims == 3)}(): Expected input to have non-zero size "
                f"for non-batch dimensions, but got{shape} with dimension {dim} being "
                "empty."
            )
    if samples.dim() != 3:
        raise RuntimeError(
            f"Expect _random_samples to have 3 dimensions, got {samples.dim()}"
        )
    if samples.size(0) < (shape[0] if len(shape) == dims + 2 else 1):
        raise RuntimeError(
            "Expect _random_samples.size(0) no less then input batch size."
        )
    if samples.size(1) != shape[-dims - 1]:
        raise RuntimeError(
            "Expect _random_samples.size(1) equals to input channel size."
        )


def _each(value: Any, dims: int) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * dims


def _fractional_max_pool(dims: int):
    def fractional_max_pool(
        input: Tensor,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:
        """Return the largest values of windows that begin at random places.

        Either ``output_size`` or ``output_ratio`` says how many windows there are; with
        ``return_indices`` also where in its plane or volume each value was.
        """
        how = (kernel_size, output_size, output_ratio, _random_samples)
        found = _fractional(dims, input, *how)
        return found if return_indices else found[0]

    return numbered(fractional_max_pool, dims)


fractional_max_pool2d, fractional_max_pool3d = map(_fractional_max_pool, (2, 3))
