"""Max pooling over windows that begin at random places."""

from __future__ import annotations

import itertools
from typing import Any

from ..._dispatch.declare import Array
from .._kernels.bitwise_select import check_floating
from .._kernels.sliding_windows import Sizes, volume
from .._support.operands import hidden_op

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
