"""Max and average pooling: plain, adaptive, and over windows at random places."""

from __future__ import annotations

import itertools
from typing import Any

from ..._dispatch.declare import Array
from .._kernels.bitwise_select import check_floating
from .._kernels.pool import (
    adaptive_cells,
    cell_means,
    check_cells,
    divisors,
    gather,
    largest,
    scatter,
    scatter_largest,
    share_cells,
    trailing,
)
from .._kernels.sliding_windows import Sizes, Window, padded, volume
from .._support.memory_formats import channels_innermost, keeps_format, moved_into
from .._support.operands import hidden_op
from .._support.special import widened
from ..memory.memory_format import channels_last_3d

_FORMATS: tuple[tuple[int, Sizes], ...] = ((2, (4, 5)), (3, ()))
"""By the dimensions of a window: ranks of inputs whose memory format is kept."""

# ---- max ----


def _max_derivative(
    F: Any,
    grad: Any,
    self: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: Any,
    result1: Any,
) -> Any:
    overlap = _overlap(kernel_size, stride or kernel_size, dilation)
    return F._max_pool_backward(grad[0], self, result1, len(kernel_size), overlap)


def _overlap(kernel: Sizes, stride: Sizes, dilation: Sizes) -> bool:
    reach = Window(kernel, stride, kernel, dilation).reach
    return any(r > s for r, s in zip(reach, stride, strict=True))


def _max_pool(
    xp: Any,
    self: Array,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    ceil_mode: bool,
) -> Any:
    """Return the largest value of each window, and where in its plane it was."""
    window = Window(kernel_size, stride or kernel_size, padding, dilation)
    batch = self if self.ndim == 2 + len(kernel_size) else self[None]
    found, indices = largest(xp, batch, window, ceil_mode)
    if batch is self:
        return found, indices
    if len(kernel_size) == 3 and channels_innermost(self):  # also without a batch
        pair = (found, indices)
        return tuple(moved_into(xp, each, channels_last_3d)[0] for each in pair)
    return found[0], indices[0]


max_pool2d_with_indices, max_pool3d_with_indices = (
    hidden_op(
        {"self": _max_derivative},
        name=f"max_pool{dims}d_with_indices",
        node=f"MaxPool{dims}DWithIndicesBackward0",
        outputs=2,
    )(keeps_format(0, ranks=(4, 5) if dims == 2 else (5,))(_max_pool))
    for dims in (2, 3)
)


@hidden_op(
    {
        "grad_output": lambda F, grad, indices, dims: F._pool_gather(
            grad, indices, dims
        ),
        "self": lambda F, grad: F.zeros_like(grad),
    },
    node="MaxPool2DWithIndicesBackwardBackward0",
)
@keeps_format(1)
def _max_pool_backward(
    xp: Any,
    grad_output: Array,
    self: Array,
    indices: Array,
    dims: int,
    overlap: bool,
) -> Any:
    """Send each window's gradient to its largest value."""
    return scatter_largest(xp, grad_output, indices, self.shape, dims, overlap)


@hidden_op(
    {
        "self": lambda F, grad, self_shape, indices, dims: F._pool_scatter(
            grad, indices, self_shape, dims
        )
    }
)
def _pool_gather(xp: Any, self: Array, indices: Array, dims: int) -> Any:
    """Read each plane at flat indices."""
    return gather(xp, self, indices, dims)


@hidden_op({"self": lambda F, grad, indices, dims: F._pool_gather(grad, indices, dims)})
def _pool_scatter(xp: Any, self: Array, indices: Array, shape: Sizes, dims: int) -> Any:
    """Add values to empty planes at flat indices."""
    return scatter(xp, self, indices, shape, dims, overlap=True)


def _unpool(xp: Any, self: Array, indices: Array, output_size: Sizes) -> Any:
    """Put values back where max pooling took them from; zeros elsewhere."""
    dims = len(output_size)
    check_floating(self, f"max_unpool{dims}d")
    shape = (*self.shape[: self.ndim - dims], *output_size)
    return scatter(xp, self, indices, shape, dims, overlap=False)


max_unpool2d, max_unpool3d = (
    hidden_op(
        {
            "self": lambda F, grad, indices, output_size: F._pool_gather(
                grad, indices, len(output_size)
            )
        },
        name=f"max_unpool{dims}d",
        node=f"MaxUnpool{dims}DBackward0",
    )(keeps_format(0, ranks=ranks)(_unpool))
    for dims, ranks in _FORMATS
)


def _adaptive_max_derivative(
    F: Any, grad: Any, self: Any, output_size: Any, result1: Any
) -> Any:
    dims = len(output_size)
    check_cells(f"adaptive_max_pool{dims}d", grad[0].shape)
    return F._max_pool_backward(grad[0], self, result1, dims, True)


def _adaptive_max(xp: Any, self: Array, output_size: Sizes) -> Any:
    """Return the largest value of each of the cells that cover the plane or volume."""
    return adaptive_cells(xp, self, output_size)


adaptive_max_pool2d, adaptive_max_pool3d = (
    hidden_op(
        {"self": _adaptive_max_derivative},
        name=f"adaptive_max_pool{dims}d",
        node=f"AdaptiveMaxPool{dims}DBackward0",
        outputs=2,
    )(keeps_format(0, ranks=ranks)(_adaptive_max))
    for dims, ranks in _FORMATS
)


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


def _adaptive_average(xp: Any, self: Array, output_size: Sizes) -> Any:
    """Return the mean of each of the cells that cover the plane or volume."""
    return cell_means(xp, widened(self), output_size).astype(self.dtype, copy=False)


adaptive_avg_pool2d, adaptive_avg_pool3d = (
    hidden_op(
        {"self": _adaptive_derivative},
        name=f"adaptive_avg_pool{dims}d",
        node=f"AdaptiveAvgPool{dims}DBackward0",
    )(keeps_format(0, ranks=ranks)(_adaptive_average))
    for dims, ranks in _FORMATS
)


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


_AXES = {2: ("height", "width"), 3: ("time", "height", "width")}


def _derivative(F: Any, grad: Any, self: Any, kernel_size: Any, result1: Any) -> Any:
    return F._max_pool_backward(grad[0], self, result1, len(kernel_size), True)


def _starts(xp: Any, samples: Any, size: int, pool: int, count: int) -> Any:
    """Return where windows begin along a dimension: (N, C, count)."""
    found = xp.full((*samples.shape, count), size - pool, "int64")
    if count > 1:
        step = samples.dtype.type(size - pool) / samples.dtype.type(count - 1)
        places = xp.arange(count - 1, dtype=samples.dtype) + samples[..., None]
        first = (samples[..., None] * step).astype("int64")
        found[..., :-1] = (places * step).astype("int64") - first
    return found


def _check(dims: int, batch: Any, samples: Any, kernel: Sizes, outputs: Sizes) -> None:
    name = f"fractional_max_pool{dims}d"
    suffix = "()" if dims == 2 else "_out()"
    if samples.shape[2] != dims:
        raise RuntimeError(
            f"Expect _random_samples.size(2) equals to {dims}; got {samples.shape[2]}."
        )
    for axis, size, pool, count in zip(
        _AXES[dims], batch.shape[2:], kernel, outputs, strict=True
    ):
        if count + pool - 1 > size:
            raise RuntimeError(
                f"{name}{suffix}: pool {axis} {pool} too large relative to input "
                f"{axis} {size}"
            )


def _pooled(
    xp: Any, self: Any, kernel: Sizes, outputs: Sizes, samples: Any
) -> tuple[Any, Any]:
    dims = len(kernel)
    batch = self if self.ndim == dims + 2 else self[None]
    _check(dims, batch, samples, kernel, outputs)
    sizes = batch.shape[2:]
    # A plane's samples are for its width, then its height; a volume's in its own order.
    order = (1, 0) if dims == 2 else (0, 1, 2)
    starts = [
        _starts(xp, samples[..., order[d]], sizes[d], kernel[d], outputs[d])
        for d in range(dims)
    ]
    flat = batch.reshape(*batch.shape[:2], volume(sizes))
    best: Any = None
    where: Any = None
    for taps in itertools.product(*(range(k) for k in kernel)):
        at: Any = 0
        for d in range(dims):
            shape = [1] * dims
            shape[d] = outputs[d]
            own = (starts[d] + taps[d]).reshape(*samples.shape[:2], *shape)
            at = at * sizes[d] + own
        at = xp.broadcast_to(at, (*batch.shape[:2], *outputs))
        seen = xp.take_along_axis(flat, at.reshape(*flat.shape[:2], volume(outputs)), 2)
        seen = seen.reshape(at.shape)
        if best is None:
            best, where = seen, at
        else:
            larger = (seen > best) | xp.isnan(seen)
            best, where = xp.where(larger, seen, best), xp.where(larger, at, where)
    where = where.copy(order="C")  # it may be a broadcast view
    return (best, where) if batch is self else (best[0], where[0])


@hidden_op({"self": _derivative}, node="FractionalMaxPool2DBackward0", outputs=2)
def fractional_max_pool2d(
    xp: Any, self: Array, kernel_size: Sizes, output_size: Sizes, random_samples: Array
) -> Any:
    """Return the largest value of each window, and where in its plane it was."""
    check_floating(self, "fractional_max_pool2d_out_frame")
    return _pooled(xp, self, kernel_size, output_size, random_samples)


@hidden_op({"self": _derivative}, node="FractionalMaxPool3DBackward0", outputs=2)
def fractional_max_pool3d(
    xp: Any, self: Array, kernel_size: Sizes, output_size: Sizes, random_samples: Array
) -> Any:
    """Return the largest value of each window, and where in its volume it was."""
    check_floating(self, "fractional_max_pool3d_out_frame")
    return _pooled(xp, self, kernel_size, output_size, random_samples)
