"""Average pooling, and its adaptive form."""

from __future__ import annotations

from typing import Any

from ..._dispatch.declare import Array
from .._kernels.pool import cell_means, check_cells, divisors, share_cells, trailing
from .._kernels.sliding_windows import Sizes, Window, padded
from .._support.memory_formats import keeps_format
from .._support.operands import hidden_op
from .._support.special import widened

# ---- average ----


def _average_derivative(
    F: Any,
    grad: Any,
    self: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: Any,
    count_include_pad: Any,
    divisor_override: Any,
) -> Any:
    return F._avg_pool_backward(
        grad,
        self,
        kernel_size,
        stride,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override,
    )


@keeps_format(0, ranks=(4,))
def _average(
    xp: Any,
    self: Array,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Any:
    """Return the mean of each window, over as many dimensions as the window has."""
    ones = (1,) * len(kernel_size)
    window = Window(kernel_size, stride or kernel_size, padding, ones)
    dtype, wide = self.dtype, widened(self)
    batch = wide if self.ndim == 2 + len(kernel_size) else wide[None]
    spatial = batch.shape[2:]
    outputs = window.outputs(spatial, ceil_mode)
    after = trailing(window, spatial, outputs)
    wide = padded(xp, batch, padding, after)
    found: Any = None
    for _, seen in window.taps(outputs):
        part = wide[(slice(None), slice(None), *seen)]
        found = part.copy() if found is None else xp.add(found, part, found)
    by = divisors(xp, window, spatial, outputs, count_include_pad, divisor_override)
    if found.dtype.kind in "biu":  # C++ rounds towards zero
        found = xp.trunc(found / by).astype(found.dtype)
    else:
        found /= by if isinstance(by, int) else by.astype(found.dtype)
    found = found.astype(dtype, copy=False)
    return found if self.ndim == found.ndim else found[0]


avg_pool2d, avg_pool3d = (
    hidden_op(
        {"self": _average_derivative},
        name=f"avg_pool{dims}d",
        node=f"AvgPool{dims}DBackward0",
    )(_average)
    for dims in (2, 3)
)


def _average_again(
    F: Any,
    grad: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: Any,
    count_include_pad: Any,
    divisor_override: Any,
) -> Any:
    pool = F.avg_pool2d if len(kernel_size) == 2 else F.avg_pool3d
    how = (ceil_mode, count_include_pad, divisor_override)
    return pool(grad, kernel_size, stride, padding, *how)


@hidden_op(
    {"grad_output": _average_again, "self": lambda F, grad: F.zeros_like(grad)},
    node="AvgPool2DBackwardBackward0",
)
@keeps_format(1, ranks=(4,))
def _avg_pool_backward(
    xp: Any,
    grad_output: Array,
    self: Array,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Any:
    """Share each window's gradient among what it covers."""
    ones = (1,) * len(kernel_size)
    window = Window(kernel_size, stride or kernel_size, padding, ones)
    dims = len(kernel_size)
    spatial, lead = self.shape[-dims:], self.shape[:-dims]
    outputs = window.outputs(spatial, ceil_mode)
    by = divisors(xp, window, spatial, outputs, count_include_pad, divisor_override)
    part = grad_output / (by if isinstance(by, int) else by.astype(grad_output.dtype))
    after = trailing(window, spatial, outputs)
    full = tuple(n + b + a for n, b, a in zip(spatial, padding, after, strict=True))
    found = xp.zeros((*lead, *full), grad_output.dtype)
    for _, seen in reversed(list(window.taps(outputs))):  # windows in their order
        target = found[(..., *seen)]
        xp.add(target, part, target)
    inner = tuple(slice(p, p + n) for p, n in zip(padding, spatial, strict=True))
    return xp.ascontiguousarray(found[(..., *inner)])


def _adaptive_derivative(F: Any, grad: Any, self: Any, output_size: Any) -> Any:
    dims = len(output_size)
    check_cells(f"adaptive_avg_pool{dims}d", grad.shape)
    return F._adaptive_avg_pool_backward(grad, self, dims)


@hidden_op({"self": _adaptive_derivative}, node="AdaptiveAvgPool2DBackward0")
@keeps_format(0)
def adaptive_avg_pool2d(xp: Any, self: Array, output_size: Sizes) -> Any:
    """Return the mean of each of the cells that cover the plane."""
    return cell_means(xp, widened(self), output_size).astype(self.dtype, copy=False)


@hidden_op({"self": _adaptive_derivative}, node="AdaptiveAvgPool3DBackward0")
def adaptive_avg_pool3d(xp: Any, self: Array, output_size: Sizes) -> Any:
    """Return the mean of each of the cells that cover the volume."""
    return cell_means(xp, widened(self), output_size).astype(self.dtype, copy=False)


def _adaptive_adjoint(F: Any, grad: Any, grad_output_shape: Any, dims: int) -> Any:
    pool = F.adaptive_avg_pool3d if dims == 3 else F.adaptive_avg_pool2d
    return pool(grad, tuple(grad_output_shape[-dims:]))


@hidden_op(
    {"grad_output": _adaptive_adjoint, "self": lambda F, grad: F.zeros_like(grad)},
    node="AdaptiveAvgPool2DBackwardBackward0",
)
@keeps_format(1, ranks=(4,))
def _adaptive_avg_pool_backward(
    xp: Any, grad_output: Array, self: Array, dims: int
) -> Any:
    """Share each cell's gradient among what it covers."""
    return share_cells(xp, grad_output, self.shape[-dims:])
