"""Triangles and diagonals of matrices, copied: tril, triu, diag, diag_embed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._dispatch.declare import Array, method, op, public
from ..._dispatch.inplace import inplace
from ..._dtypes import int32, int64, parse_dtype
from ..._tensor.tensor import Tensor
from .._support.arguments import as_integer, check_tensor, wrap_dim
from .._support.new_tensor import made, module_on, row_major
from .._support.out_argument import SAME_DTYPE, with_out
from .._support.signed import renamed

Sizes = tuple[int, ...]


@op(
    {"self": lambda F, grad, diagonal: F.tril(grad, diagonal)},
    out=True,
    out_rule=SAME_DTYPE,
)
def tril(xp: Any, self: Array, diagonal: int = 0) -> Any:
    """Keep the elements of matrices on and below a diagonal; zero the others.

    >>> import gradtape as torch
    >>> torch.ones(2, 2).tril()
    tensor([[1., 0.],
            [1., 1.]])
    """
    diagonal = _checked_diagonal(self, diagonal, "tril")
    return row_major(xp, xp.tril(self, diagonal))


@op(
    {"self": lambda F, grad, diagonal: F.triu(grad, diagonal)},
    out=True,
    out_rule=SAME_DTYPE,
)
def triu(xp: Any, self: Array, diagonal: int = 0) -> Any:
    """Keep the elements of matrices on and above a diagonal; zero the others."""
    diagonal = _checked_diagonal(self, diagonal, "triu")
    return row_major(xp, xp.triu(self, diagonal))


inplace("tril", "triu")


def _checked_diagonal(array: Any, diagonal: Any, name: str) -> int:
    diagonal = as_integer(diagonal, name, "diagonal", 2)
    if array.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
    return diagonal


@op({"self": lambda F, grad, offset, dim1, dim2: F.diagonal(grad, offset, dim1, dim2)})
def diag_embed(
    xp: Any, self: Array, offset: int = 0, dim1: int = -2, dim2: int = -1
) -> Any:
    """Put the last dimension on the diagonal of two new ones, in zeros."""
    ndim = self.ndim + 1
    i, j = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if i == j:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    length = self.shape[-1] + abs(offset)
    whole = xp.zeros((*self.shape[:-1], length, length), self.dtype)
    steps = xp.arange(self.shape[-1])
    whole[..., steps + max(-offset, 0), steps + max(offset, 0)] = self
    return xp.ascontiguousarray(xp.moveaxis(whole, (-2, -1), (i, j)))


@op(
    {
        "self": lambda F, grad, self_shape, offset, dim1, dim2: F.diagonal_backward(
            grad, self_shape, offset, dim1, dim2
        )
    },
    node="DiagonalBackward0_copy",
    method=False,
    out=True,
    out_rule=SAME_DTYPE,
)
def diagonal_copy(
    xp: Any, self: Array, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Any:
    """Copy the diagonal of two dimensions."""
    first, second = (wrap_dim(d, self.ndim) for d in (dim1, dim2))
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return xp.diagonal(self, offset, dim1, dim2).copy()


@method(function=True)
@with_out(SAME_DTYPE)
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """Make a vector the diagonal of a matrix, or copy the diagonal of one."""
    ndim = check_tensor(input, "diag").dim()
    if ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {ndim}D")
    if ndim == 1:
        return diag_embed(input, diagonal)
    return diagonal_copy(input, diagonal)


@method(function=True)
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """Make all elements the diagonal of a matrix."""
    check_tensor(input, "diagflat")
    return diag(input.contiguous().view(-1), offset)


def _indices(function: str, side: str) -> Callable[..., Tensor]:
    doc = f"Return the row and column numbers on and {side} a diagonal, in two rows."

    @public
    @renamed(function, doc)
    def indices(
        row: int,
        col: int,
        offset: int = 0,
        *,
        dtype: Any = None,
        device: Any = None,
        layout: Any = None,
    ) -> Tensor:
        for at, (name, n) in enumerate((("row", row), ("col", col)), 1):
            if as_integer(n, function, name, at) < 0:
                raise RuntimeError(f"{name} must be non-negative, got{n}")
        xp = module_on(device)
        find = getattr(xp, function)
        kind = int64 if dtype is None else parse_dtype(dtype, function)
        if kind not in (int32, int64):
            raise NotImplementedError(
                f"\"{function}\" not implemented for '{kind.cpp_name}'"
            )
        return made(xp.stack(find(row, offset, col)).astype(kind.numpy))

    return indices


tril_indices = _indices("tril_indices", "below")
triu_indices = _indices("triu_indices", "above")
