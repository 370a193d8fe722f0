"""Products over dimensions; zeros among the factors need care on the way back."""

from __future__ import annotations

from typing import Any

from ..._backend import backend_of
from ..._dispatch.declare import Array, method
from ..._dtypes import dtype as DType
from ..._dtypes import parse_dtype
from ..._tensor.tensor import Tensor, wrap
from .._support.arguments import as_integer
from .._support.declare_view import composed
from .._support.dim_keepdim import ABSENT, dim_argument
from .._support.operands import hidden_op
from .._support.reduction import (
    axes_of,
    dtype_with_out,
    finish,
    in_dtype,
    restored,
    values_of,
    wide,
)


def _prod_kernel(xp: Any, self: Array, dim: Any = None, keepdim: bool = False) -> Any:
    axes = axes_of(dim, self.ndim)
    found = xp.multiply.reduce(self, axis=axes, dtype=wide(self))
    if self.dtype.kind not in "biu":
        found = xp.asarray(found).astype(self.dtype, copy=False)
    return finish(xp, found, self.shape, axes, keepdim)


def on_diagonal(F: Any, like: Any, n: int) -> Any:
    """Return a square mask of the diagonal, raw or a tensor as the formula needs."""
    mask = backend_of(values_of(like)).xp.eye(n, dtype=bool)
    return mask if F.raw else wrap(mask)


def _others_backward(F: Any, grad: Any, self: Any, dim: int) -> Any:
    """Differentiate the product of all others: leave two out, for every pair."""
    last = F.transpose(self, dim, -1)
    shape = tuple(last.shape)
    same = on_diagonal(F, self, shape[-1])
    rows = F.expand(F.unsqueeze(last, -2), (*shape, shape[-1]))
    pairs = F._product_of_others(F.where(same, 1.0, rows), -1)
    grads = F.unsqueeze(F.transpose(grad, dim, -1), -1)
    back = F.sum(F.where(same, 0.0, grads * F.conj(pairs)), -2, False)
    return F.transpose(back, dim, -1)


@hidden_op({"self": _others_backward})
def _product_of_others(xp: Any, self: Array, dim: int) -> Any:
    """Multiply, for each element, all the others along a dimension."""
    if not self.ndim:
        return xp.ones_like(self)
    last = xp.moveaxis(self, dim, -1)
    before, after = xp.ones_like(last), xp.ones_like(last)
    before[..., 1:] = xp.cumprod(last[..., :-1], -1)
    after[..., :-1] = xp.cumprod(last[..., :0:-1], -1)[..., ::-1]
    return xp.moveaxis(before * after, -1, dim)


def _prod_backward(
    F: Any, grad: Any, self: Any, result: Any, dim: Any, keepdim: bool
) -> Any:
    shape = tuple(self.shape)
    if not shape:
        return grad
    grad = restored(F, grad, shape, dim, keepdim)
    if not (values_of(self) == 0).any():
        return grad * F.conj(restored(F, result, shape, dim, keepdim) / self)
    if F.raw and dim is None and (self == 0).sum() > 1:
        return F.zeros_like(self)
    if dim is None and len(shape) != 1:
        flat = F.reshape(self, (-1,))
        return grad * F.conj(F.reshape(F._product_of_others(flat, 0), shape))
    return grad * F.conj(F._product_of_others(self, 0 if dim is None else dim))


@hidden_op(
    {
        "self": lambda F, grad, self, result: _prod_backward(
            F, grad, self, result, None, False
        )
    },
    name="prod",
    key="_prod_all",
    out=True,
)
def _prod_all(xp: Any, self: Array, *, dtype: DType | None = None) -> Any:
    found = _prod_kernel(xp, in_dtype(self, dtype))
    return found if dtype is None else found.astype(dtype.numpy, copy=False)


@hidden_op(
    {"self": _prod_backward},
    name="prod",
    key="_prod_dim",
    node="ProdBackward1",
    out=True,
)
def _prod_dim(
    xp: Any, self: Array, dim: int, keepdim: bool, *, dtype: DType | None = None
) -> Any:
    found = _prod_kernel(xp, in_dtype(self, dtype), dim, keepdim)
    return found if dtype is None else found.astype(dtype.numpy, copy=False)


@method(function=True)
@composed(_prod_kernel)
def prod(
    input: Tensor,
    dim: Any = ABSENT,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
    axis: Any = ABSENT,
    keepdims: Any = ABSENT,
) -> Tensor:
    """Multiply all elements, or those along one dimension."""
    dim, keepdim = dim_argument(dim, axis, keepdim, keepdims)
    kind = None if dtype is None else parse_dtype(dtype, "prod")
    if dim is ABSENT or dim is None:
        return _prod_all(input, dtype=kind, out=out)
    kind = dtype_with_out(kind, out)
    return _prod_dim(
        input, as_integer(dim, "prod", "dim", 2), keepdim, dtype=kind, out=out
    )
