"""Pooling as functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._define import FUNCTIONS
from ..._tensor import Tensor
from ...ops import pool as ops
from ...ops._windows import Window, spread

Indices = tuple[Tensor, Tensor]


def _sizes(dims: int, name: str, **given: Any) -> list[tuple[int, ...]]:
    return [spread(value, dims, key, name) for key, value in given.items()]


def _check(
    input: Tensor,
    dims: int,
    name: str,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    ceil_mode: bool,
) -> None:
    if input.dim() not in (dims + 1, dims + 2):
        raise _rank_error(input, dims, name)
    if any(k <= 0 for k in kernel):
        raise RuntimeError(
            "kernel size should be greater than zero, but got "
            + _list("kernel", kernel)
        )
    if any(s <= 0 for s in stride):
        raise RuntimeError(
            "stride should not be zero"
            if dims > 1
            else "stride must be greater than zero"
        )
    window = Window(kernel, stride, padding, dilation)
    for pad, size, reach in zip(padding, kernel, window.reach, strict=True):
        if pad < 0 or pad > reach // 2 or pad > size * reach:
            raise RuntimeError(
                "pad should be at most half of effective kernel size, but got pad="
                f"{pad}, kernel_size={size} and dilation={dilation[0]}"
                if pad >= 0
                else f"pad must be non-negative, but got pad: {pad}"
            )
    outputs = window.outputs(tuple(input.shape[-dims:]), ceil_mode)
    if any(n < 1 for n in outputs):
        before = "x".join(map(str, input.shape[-dims - 1 :]))
        after = "x".join(map(str, (input.shape[-dims - 1], *outputs)))
        raise RuntimeError(
            f"Given input size: ({before}). Calculated output size: ({after}). Output "
            "size is too small"
        )


def _rank_error(input: Tensor, dims: int, name: str) -> Exception:
    shown = f"[{', '.join(map(str, input.shape))}]"
    if dims == 1:
        return RuntimeError(f"{name}() Expected 2D or 3D input tensor, but got {shown}")
    if name.startswith("avg"):
        ndim = max(input.dim(), 1)
        if input.dim() < dims:
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


# ---- max ----


def _max(
    dims: int,
    input: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
) -> Indices:
    name = f"max_pool{dims}d"
    same = stride is None or (isinstance(stride, (list, tuple)) and not stride)
    if same:
        stride = kernel_size
    given = _sizes(
        dims,
        name,
        kernel_size=kernel_size,
        stride=stride,
        padding=padding,
        dilation=dilation,
    )
    _check(input, dims, name, *given, ceil_mode)
    if same and dims > 1:
        given[1] = ()  # a node says that no stride was given
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
    found = _max(1, input, kernel_size, stride, padding, dilation, ceil_mode)
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
    kernel, pads = _sizes(dims, "max_unpool", kernel_size=kernel_size, padding=padding)
    steps = kernel if stride is None else spread(stride, dims, "stride", "max_unpool")
    spatial = input.shape[-dims:]
    sizes = tuple(
        (n - 1) * s + k - 2 * p
        for n, s, k, p in zip(spatial, steps, kernel, pads, strict=True)
    )
    if output_size is not None:
        sizes = tuple(int(n) for n in output_size)[-dims:]
    if dims == 1:
        found = ops.max_unpool2d(
            input.unsqueeze(-1), indices.unsqueeze(-1), (*sizes, 1)
        )
        return found.squeeze(-1)
    unpool = ops.max_unpool2d if dims == 2 else ops.max_unpool3d
    return unpool(input, indices, sizes)


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
    given = _sizes(dims, name, kernel_size=kernel_size, stride=stride, padding=padding)
    _check(input, dims, name, *given, (1,) * dims, options[0])
    if options[2] == 0:
        raise RuntimeError("divisor must be not zero")
    if same and dims > 1:
        given[1] = ()
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


# ---- adaptive ----


def _targets(dims: int, input: Tensor, output_size: Any, name: str) -> tuple[int, ...]:
    """Read an output size, where None stands for the input's own."""
    if input.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got "
            f"{list(input.shape)}"
        )
    given = (
        [output_size] * dims
        if output_size is None or isinstance(output_size, int)
        else list(output_size)
    )
    spatial = input.shape[-dims:]
    return tuple(
        n if g is None else int(g) for g, n in zip(given, spatial, strict=True)
    )


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Return means of as many cells as asked for, whatever the input's length."""
    (size,) = _targets(1, input, output_size, "adaptive_avg_pool1d")
    return adaptive_avg_pool2d(input.unsqueeze(-2), (1, size)).squeeze(-2)


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Return means of as many cells as asked for, whatever the input's size."""
    sizes = _targets(2, input, output_size, "adaptive_avg_pool2d")
    if sizes == (1, 1):
        return input.mean((-1, -2), keepdim=True)
    return ops.adaptive_avg_pool2d(input, sizes)


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Return means of as many cells as asked for, whatever the input's size."""
    sizes = _targets(3, input, output_size, "adaptive_avg_pool3d")
    if sizes == (1, 1, 1):
        return input.mean((-1, -2, -3), keepdim=True)
    return ops.adaptive_avg_pool3d(input, sizes)


def adaptive_max_pool1d(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> Any:
    """Return the largest values of as many cells as asked for."""
    (size,) = _targets(1, input, output_size, "adaptive_max_pool1d")
    values, indices = ops.adaptive_max_pool2d(input.unsqueeze(-2), (1, size))
    values, indices = values.squeeze(-2), indices.squeeze(-2)
    return (values, indices) if return_indices else values


def adaptive_max_pool2d(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> Any:
    """Return the largest values of as many cells as asked for."""
    sizes = _targets(2, input, output_size, "adaptive_max_pool2d")
    found = ops.adaptive_max_pool2d(input, sizes)
    return found if return_indices else found[0]


def adaptive_max_pool3d(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> Any:
    """Return the largest values of as many cells as asked for."""
    sizes = _targets(3, input, output_size, "adaptive_max_pool3d")
    found = ops.adaptive_max_pool3d(input, sizes)
    return found if return_indices else found[0]
