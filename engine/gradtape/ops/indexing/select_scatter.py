"""Copies of a tensor with one part replaced: select_scatter and its kin."""

from __future__ import annotations

from typing import Any

from ..._backend import backend_of
from ..._dispatch.declare import Array, op
from .._kernels.bitwise_select import check_floating
from .._support.arguments import wrap_dim
from .._support.out_argument import SAME_DTYPE

Index = tuple[Any, ...]


def _replaced(name: str, self: Any, src: Any, index: Index) -> Any:
    """Return a copy with ``src`` at ``index``; refuse another shape or dtype."""
    copy = _copied(self)
    part = copy[index]
    if part.shape != src.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the {name} of self. src size = "
            f"{list(src.shape)}, {name} size = {list(part.shape)}"
        )
    copy[index] = src
    return copy


def _copied(array: Any) -> Any:
    """Return a copy with the strides of an array, gaps included, if no cells meet."""
    repeats = 0 in array.strides and bool(array.size)
    rows = array.flags.c_contiguous and 1 not in array.shape
    if rows or repeats:
        return array.copy()
    backend, item = backend_of(array), array.itemsize
    steps = tuple(step // item for step in array.strides)
    ends = ((n - 1) * step for n, step in zip(array.shape, steps, strict=True))
    flat = backend.xp.zeros(1 + sum(ends) if array.size else 0, array.dtype)
    copy = backend.strided(flat, array.shape, steps, 0)
    copy[...] = array
    return copy


def _along(self: Any, dim: int, index: Any) -> Index:
    return (*(slice(None),) * wrap_dim(dim, self.ndim), index)


@op(
    {
        "self": lambda F, grad, src_shape, dim, index: F.select_scatter(
            grad, F._new_zeros(grad, src_shape), dim, index
        ),
        "src": lambda F, grad, dim, index: F.select(grad, dim, index),
    }
)
def select_scatter(xp: Any, self: Array, src: Array, dim: int, index: int) -> Any:
    """Copy the tensor with one position of a dimension replaced.

    >>> import gradtape as torch
    >>> torch.zeros(2, 2).select_scatter(torch.ones(2), 0, 1)
    tensor([[0., 0.],
            [1., 1.]])
    """
    return _replaced("slice", self, src.astype(self.dtype), _along(self, dim, index))


@op(
    {
        "self": lambda F, grad, src_shape, dim, start, end, step: F.slice_scatter(
            grad, F._new_zeros(grad, src_shape), dim, start, end, step
        ),
        "src": lambda F, grad, dim, start, end, step: F.slice(
            grad, dim, start, end, step
        ),
    },
    out=True,
    out_rule=SAME_DTYPE,
    recorded="real",
)
def slice_scatter(
    xp: Any,
    self: Array,
    src: Array,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Any:
    """Copy the tensor with a range of a dimension replaced."""
    part = _along(self, dim, slice(start, end, step))
    return _replaced("slice", self, src.astype(self.dtype), part)


@op(
    {
        "self": lambda F, grad, src_shape, offset, dim1, dim2: F.diagonal_scatter(
            grad, F._new_zeros(grad, src_shape), offset, dim1, dim2
        ),
        "src": lambda F, grad, offset, dim1, dim2: F.diagonal(grad, offset, dim1, dim2),
    }
)
def diagonal_scatter(
    xp: Any, self: Array, src: Array, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Any:
    """Copy the tensor with a diagonal replaced."""
    copy = _copied(self)
    front = xp.moveaxis(copy, (dim1, dim2), (0, 1))
    length = xp.diagonal(self, offset, dim1, dim2).shape[-1]
    steps = xp.arange(length)
    rows, columns = steps + max(-offset, 0), steps + max(offset, 0)
    front[rows, columns] = xp.moveaxis(src, -1, 0)
    return copy


@op(
    {
        "self": lambda F, grad, self_shape: F.diagonal_backward(
            F.expand(F.unsqueeze(grad, 0), (min(self_shape),)), self_shape, 0, 0, 1
        )
    }
)
def trace(xp: Any, self: Array) -> Any:
    """Add up the diagonal of a matrix."""
    check_floating(self, "trace", "b")
    if self.ndim != 2:
        raise RuntimeError(
            "trace: expected a matrix, but got tensor with dim " + str(self.ndim)
        )
    if self.dtype.kind in "iub":
        return xp.trace(self, dtype="int64")
    wide = "float32" if self.dtype.itemsize == 2 else self.dtype
    return xp.trace(self, dtype=wide).astype(self.dtype)
