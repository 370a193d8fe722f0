"""Counting and differencing: mode, diff."""

from __future__ import annotations

from typing import Any

from ... import return_types
from ..._dispatch.declare import Array, method
from ..._tensor.tensor import Tensor
from .._kernels.bitwise_select import check_floating
from .._support.arguments import as_integer, wrap_dim
from .._support.dim_keepdim import numpy_names
from .._support.operands import hidden_op
from .._support.reduction import finish
from .min_max import picked_backward

_VALUES_DTYPE = "expected scalar type '{result}' but got '{out}' for {slot} output"


@hidden_op(
    {
        "self": lambda F, grad, result1, self_shape, dim, keepdim: picked_backward(
            F, grad, result1, self_shape, dim, keepdim
        )
    },
    name="mode",
    key="_mode",
    outputs=2,
    output_names=("values", "indices"),
    out=True,
    out_rule=_VALUES_DTYPE,
    family="upcast",
)
def _mode(xp: Any, self: Array, dim: int, keepdim: bool) -> Any:
    axis = wrap_dim(dim, self.ndim)
    if self.ndim == 0:
        return self.copy(), xp.zeros((), "int64")
    check_floating(self, "mode_cpu", "c")
    order = xp.argsort(self, axis=axis, kind="stable")
    lines = xp.take_along_axis(self, order, axis)
    n = self.shape[axis]
    steps = xp.arange(n).reshape([-1 if i == axis else 1 for i in range(self.ndim)])
    first = xp.ones(self.shape, bool)
    along = [slice(None)] * self.ndim
    later, earlier = list(along), list(along)
    later[axis], earlier[axis] = slice(1, None), slice(None, -1)
    first[tuple(later)] = lines[tuple(later)] != lines[tuple(earlier)]
    # How far a run of equal elements has come: the longest run ends at the mode.
    run = steps - xp.maximum.accumulate(xp.where(first, steps, 0), axis=axis)
    at = xp.argmax(run, axis=axis, keepdims=True)
    places = xp.take_along_axis(order, at, axis)
    values = xp.take_along_axis(self, places, axis)
    return tuple(
        finish(xp, v.squeeze(axis), self.shape, (axis,), keepdim)
        for v in (values, places.astype("int64", copy=False))
    )


@method(function=True)
@numpy_names
def mode(
    input: Tensor, dim: int = -1, keepdim: bool = False, *, out: Any = None
) -> Any:
    """Return (value, index) of the most frequent element along a dimension.

    Of several, the smallest; its last place.
    """
    return return_types.mode(
        _mode(input, as_integer(dim, "mode", "dim", 2), keepdim, out=out)
    )
