"""Max pooling with indices, average pooling, and their adaptive forms."""

from __future__ import annotations

from typing import Any

from ..._dispatch.declare import Array
from .._kernels.bitwise_select import check_floating
from .._kernels.pool import (
    adaptive_cells,
    check_cells,
    gather,
    largest,
    scatter,
    scatter_largest,
)
from .._kernels.sliding_windows import Sizes, Window
from .._support.memory_formats import channels_innermost, keeps_format, moved_into
from .._support.operands import hidden_op
from ..memory.memory_format import channels_last_3d

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
    self: Any,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    ceil_mode: bool,
) -> tuple[Any, Any]:
    window = Window(kernel_size, stride or kernel_size, padding, dilation)
    batch = self if self.ndim == 2 + len(kernel_size) else self[None]
    found, indices = largest(xp, batch, window, ceil_mode)
    return (found, indices) if batch is self else (found[0], indices[0])


@hidden_op({"self": _max_derivative}, node="MaxPool2DWithIndicesBackward0", outputs=2)
@keeps_format(0)
def max_pool2d_with_indices(
    xp: Any,
    self: Array,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    ceil_mode: bool,
) -> Any:
    """Return the largest value of each window, and where in its plane it was."""
    return _max_pool(xp, self, kernel_size, stride, padding, dilation, ceil_mode)


@hidden_op({"self": _max_derivative}, node="MaxPool3DWithIndicesBackward0", outputs=2)
@keeps_format(0, ranks=(5,))
def max_pool3d_with_indices(
    xp: Any,
    self: Array,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    ceil_mode: bool,
) -> Any:
    """Return the largest value of each window, and where in its volume it was."""
    how = (kernel_size, stride, padding, dilation, ceil_mode)
    found = _max_pool(xp, self, *how)
    if self.ndim == 4 and channels_innermost(self):  # also without a batch
        return tuple(moved_into(xp, a[None], channels_last_3d)[0] for a in found)
    return found


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


def _unpool(xp: Any, self: Any, indices: Any, output_size: Sizes) -> Any:
    shape = (*self.shape[: self.ndim - len(output_size)], *output_size)
    return scatter(xp, self, indices, shape, len(output_size), overlap=False)


@hidden_op(
    {"self": lambda F, grad, indices: F._pool_gather(grad, indices, 2)},
    node="MaxUnpool2DBackward0",
)
@keeps_format(0)
def max_unpool2d(xp: Any, self: Array, indices: Array, output_size: Sizes) -> Any:
    """Put values back where max pooling took them from; zeros elsewhere."""
    check_floating(self, "max_unpool2d")
    return _unpool(xp, self, indices, output_size)


@hidden_op(
    {"self": lambda F, grad, indices: F._pool_gather(grad, indices, 3)},
    node="MaxUnpool3DBackward0",
)
def max_unpool3d(xp: Any, self: Array, indices: Array, output_size: Sizes) -> Any:
    """Put values back where max pooling took them from; zeros elsewhere."""
    check_floating(self, "max_unpool3d")
    return _unpool(xp, self, indices, output_size)


def _adaptive_max(xp: Any, self: Any, output_size: Sizes) -> tuple[Any, Any]:
    return adaptive_cells(xp, self, output_size)


def _adaptive_backward(F: Any, grad: Any, self: Any, indices: Any, dims: int) -> Any:
    check_cells(f"adaptive_max_pool{dims}d", grad.shape)
    return F._max_pool_backward(grad, self, indices, dims, True)


@hidden_op(
    {
        "self": lambda F, grad, self, result1: _adaptive_backward(
            F, grad[0], self, result1, 2
        )
    },
    node="AdaptiveMaxPool2DBackward0",
    outputs=2,
)
@keeps_format(0)
def adaptive_max_pool2d(xp: Any, self: Array, output_size: Sizes) -> Any:
    """Return the largest value of each of the cells that cover the plane."""
    return _adaptive_max(xp, self, output_size)


@hidden_op(
    {
        "self": lambda F, grad, self, result1: _adaptive_backward(
            F, grad[0], self, result1, 3
        )
    },
    node="AdaptiveMaxPool3DBackward0",
    outputs=2,
)
def adaptive_max_pool3d(xp: Any, self: Array, output_size: Sizes) -> Any:
    """Return the largest value of each of the cells that cover the volume."""
    return _adaptive_max(xp, self, output_size)
