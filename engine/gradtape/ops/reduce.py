"""Reductions."""

from __future__ import annotations

from typing import Any

from .._define import Array, op
from .._dtypes import dtype as DType  # noqa: N812


def expand_reduced(F, grad, shape, dim, keepdim):
    if dim is not None and not keepdim and shape:
        dims = (dim,) if isinstance(dim, int) else tuple(dim)
        kept = {d % len(shape) for d in dims} or set(range(len(shape)))
        grad = F.reshape(grad, tuple(1 if i in kept else n for i, n in enumerate(shape)))
    return F.expand(grad, shape)


@op({"self": lambda F, grad, self_shape, dim, keepdim: expand_reduced(F, grad, self_shape, dim, keepdim)})
def sum(xp: Any, self: Array, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None) -> Any:
    """Add up elements."""
    axis = tuple(dim) if isinstance(dim, list | tuple) else dim
    return xp.sum(self, axis=axis or None if axis == () else axis, keepdims=keepdim, dtype=None if dtype is None else dtype.numpy)


@op({"self": lambda F, grad: F.conj(grad)})
def conj(xp: Any, self: Array) -> Any:
    if type(self) is float or self.dtype.kind != "c":
        return self
    return xp.conj(self)
