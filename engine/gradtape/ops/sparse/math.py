"""What gradtape.sparse computes: products with sparse matrices, sums, softmax."""

from __future__ import annotations

from typing import Any

from ..._dispatch.declare import FUNCTIONS, Array, method, public
from ..._sparse.array import SparseArray
from ..._sparse.rules import broadcast
from ..._tensor.tensor import Tensor
from .._support.arguments import wrap_dim, wrap_dims
from .._support.operands import hidden_op
from .layout import _coalesce, _sparse_coo, _values, is_sparse, wrap


def _into_sparse(F: Any, grad: Any, mat1: Any, mat2: Any) -> Any:
    """Return the gradient of the sparse factor, at the places it has."""
    return F._sparse_like(F.mm(grad, F.conj(F.transpose(mat2, 0, 1))), mat1)


@hidden_op(
    {
        "mat1": _into_sparse,
        "mat2": lambda F, grad, mat1: F._sparse_transposed_mm(mat1, grad),
    },
    name="_sparse_addmm",
    key="_sparse_mm",
    node="SparseAddmmBackward0",
)
def _sparse_mm(xp: Any, mat1: Array, mat2: Array) -> Any:
    """Multiply a sparse matrix and a dense one."""
    return mat1 @ mat2


@hidden_op(
    {
        "self": lambda F, grad, self, other: F._sparse_like(
            F.mm(other, F.conj(F.transpose(grad, 0, 1))), self
        ),
        "other": lambda F, grad, self: F._sparse_mm(self, grad),
    }
)
def _sparse_transposed_mm(xp: Any, self: Array, other: Array) -> Any:
    """Multiply the conjugate transpose of a sparse matrix and a dense one."""
    return self.conjugate().swapaxes(0, 1) @ other


def _check(mat1: Tensor, mat2: Tensor) -> None:
    for name, matrix in (("mat1", mat1), ("mat2", mat2)):
        if matrix.dim() != 2:
            raise RuntimeError(
                f"addmm: Expected {name} to be 2D, but got {matrix.dim()}D"
            )
    if mat1.shape[1] != mat2.shape[0]:
        if is_sparse(mat1) and is_sparse(mat2):
            shapes = ("{}x{}".format(*each.shape) for each in (mat1, mat2))
            raise RuntimeError(
                "mat1 and mat2 shapes cannot be multiplied ({} and {})".format(*shapes)
            )
        raise RuntimeError(
            f"addmm: Argument #3 (dense): Expected dim 0 size {mat1.shape[1]}, got "
            f"{mat2.shape[0]}"
        )


def mm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """Multiply a sparse matrix by a dense one; the gradient of the sparse is sparse.

    >>> import gradtape as torch
    >>> s = torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
    >>> torch.sparse.mm(s, torch.ones(3, 1))
    tensor([[3.],
            [4.]])
    """
    _check(mat1, mat2)
    if mat1.dtype is not mat2.dtype:
        mine, theirs = mat1.dtype.cpp_name, mat2.dtype.cpp_name
        raise RuntimeError(
            f"mat1 dtype {mine} does not match mat2 dtype {theirs}"
            if is_sparse(mat1) and is_sparse(mat2)
            else f"expected scalar type {mine} but found {theirs}"
        )
    if is_sparse(mat1) and is_sparse(mat2):
        dense = _sparse_mm(mat1, mat2.to_dense())
        return dense.to_sparse()
    if not is_sparse(mat1):
        return FUNCTIONS["mm"](mat1, mat2)
    return _sparse_mm(mat1, mat2)


def addmm(
    mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0
) -> Tensor:
    """Return ``beta * mat + alpha * (mat1 @ mat2)`` for a sparse ``mat1``."""
    product = mm(mat1, mat2)
    product = product if alpha == 1 else product * alpha
    return (mat if beta == 1 else mat * beta) + product


@public
def _sparse_broadcast_to(input: Tensor, size: Any) -> Tensor:
    """Repeat dimensions of size 1; the elements that are repeated are copies."""
    lead = len(size) - input.dim()
    if lead < 0:
        raise RuntimeError(
            "the requested broadcast shape has fewer dimensions than the input"
        )
    for dim, (length, wanted) in enumerate(zip(input.shape, size[lead:], strict=True)):
        if length not in (1, wanted):
            raise RuntimeError(
                f"The input's length {length} at dimension {dim} does not broadcast "
                f"over the requested shape of length {wanted} at dimension {dim + lead}"
            )
    return wrap(broadcast(input._data, tuple(size)))


@public
def hspmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """Multiply a sparse matrix by a dense one, into the rows that the sparse one has.

    >>> import gradtape as torch
    >>> s = torch.sparse_coo_tensor([[1], [0]], [3.0], (2, 2))
    >>> torch.hspmm(s, torch.ones(2, 2)).values()
    tensor([[3., 3.]])
    """
    rows = mat1.coalesce().indices()[0].unique()
    size, values = (mat1.shape[0], mat2.shape[1]), mm(mat1, mat2)[rows]
    return FUNCTIONS["sparse_coo_tensor"](rows[None], values, size, is_coalesced=True)


FUNCTIONS["hsmm"] = hspmm


@method(function=True)
def sspaddmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    """Return ``beta * input + alpha * (mat1 @ mat2)``, sparse but for ``mat2``."""
    found = hspmm(mat1, mat2)
    rows, width = found.indices()[0], mat2.shape[1]
    columns = FUNCTIONS["arange"](width).repeat(len(rows))
    places = FUNCTIONS["stack"]([rows.repeat_interleave(width), columns])
    values = input._values() * beta, found.values().reshape(-1) * alpha
    joined = FUNCTIONS["cat"]([input._indices(), places], 1)
    return FUNCTIONS["sparse_coo_tensor"](
        joined, FUNCTIONS["cat"](values), tuple(found.shape)
    )


FUNCTIONS["saddmm"] = sspaddmm


@method(function=True)
def smm(input: Tensor, mat: Tensor) -> Tensor:
    """Multiply a sparse matrix by a dense one, into a sparse one."""
    return sspaddmm(input.new(input.shape[0], mat.shape[1]), input, mat)


def sum(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """Add up a sparse tensor's elements; along dimensions the result is sparse."""
    return _sparse_sum(input, dim, dtype)


@public
def _sparse_sum(
    input: Tensor, dim: Any = None, dtype: Any = None, keepdim: bool = False
) -> Tensor:
    """Add up a sparse tensor's elements, and keep the dimensions where asked to."""
    found = _summed(input, dim, dtype)
    if keepdim:
        dims = range(input.dim()) if dim is None else wrap_dims(dim, input.dim())
        for d in sorted(dims):
            found = found.unsqueeze(d)
    return found


def _summed(input: Tensor, dim: Any, dtype: Any) -> Tensor:
    if dtype is not None:
        input = input.to(dtype)
    if not is_sparse(input):
        raise RuntimeError("_sparse_sum: expected a sparse tensor")
    input = input if input._data.coalesced else _coalesce(input)
    if dim is None:
        return _all_values(input).sum()
    gone = set(wrap_dims(dim, input.dim()))
    data: SparseArray = input._data
    kept = [d for d in range(data.sparse_dim) if d not in gone]
    inner = [d - data.sparse_dim + 1 for d in sorted(gone) if d >= data.sparse_dim]
    values = _all_values(input)
    values = values.sum(inner) if inner else values
    if not kept:
        return values.sum(0)
    shape = tuple(n for d, n in enumerate(input.shape) if d not in gone)
    found = _sparse_coo(values, wrap(data.indices[kept]), shape, False)
    return found.coalesce()


def _all_values(input: Tensor) -> Tensor:
    return _values(input, wrap(input._data.indices))


def _softmax(name: str, input: Tensor, dim: int, dtype: Any) -> Tensor:
    """Return a softmax over the elements that are there, along a sparse dimension."""
    if dtype is not None:
        input = input.to(dtype)
    axis = wrap_dim(dim, input.dim())
    source = input if input._data.coalesced else _coalesce(input)
    data: SparseArray = source._data
    values = _all_values(source)
    if axis >= data.sparse_dim:
        found = FUNCTIONS[name](values, axis - data.sparse_dim + 1)
    else:
        found = _along_sparse(name, data, values, axis)
    return _sparse_coo(found, wrap(data.indices), tuple(input.shape), True)


def _along_sparse(name: str, data: SparseArray, values: Tensor, axis: int) -> Tensor:
    rows = wrap(data.indices).unbind(0)
    others = [row for d, row in enumerate(rows) if d != axis]
    count, group = 1, rows[0] * 0
    for row, d in zip(others, (d for d in range(len(rows)) if d != axis), strict=True):
        group, count = group * data.shape[d] + row, count * data.shape[d]
    shape = (count, *values.shape[1:])
    index = group.reshape(-1, *(1,) * (values.dim() - 1)).expand(values.shape)
    start = FUNCTIONS["full"](shape, float("-inf"), dtype=values.dtype)
    largest = start.scatter_reduce(0, index, values.detach(), "amax")
    shifted = values - largest.gather(0, index)
    exps = shifted.exp()
    totals = FUNCTIONS["zeros"](shape, dtype=values.dtype).scatter_add(0, index, exps)
    total = totals.gather(0, index)
    return exps / total if name == "softmax" else shifted - total.log()


def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Return the softmax of the elements that are there; missing ones have no share."""
    return _softmax("softmax", input, dim, dtype)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Return the logarithm of the softmax of the elements that are there."""
    return _softmax("log_softmax", input, dim, dtype)
