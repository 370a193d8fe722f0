"""Sparse arrays times others: place by place, and batches of matrices."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .array import SparseArray, refused

_ANOTHER_SHAPE = (
    "sparse_binary_op_intersection_cpu(): expects sparse inputs with equal "
    "dimensionality, number of sparse dimensions, and shape of sparse dimensions"
)
_DIVISOR = (
    "Sparse{} division requires a scalar or zero-dim dense tensor divisor (got shape "
    "{} for divisor)"
)


def product(ufunc: Any, x: Any, y: Any) -> Any:
    """Multiply or divide by a number, or multiply place by place."""
    if isinstance(x, SparseArray) and _is_number(y):
        return x.with_values(ufunc(x.values, y))
    if ufunc is not np.multiply:
        if isinstance(x, SparseArray):
            raise RuntimeError(_DIVISOR.format("", list(y.shape)))
        raise refused("div")
    if not isinstance(x, SparseArray):
        return product(ufunc, y, x)
    if isinstance(y, SparseArray):
        return _intersection(x, y)
    shape = np.broadcast_shapes(x.shape, y.shape)
    x = x if x.shape == shape else broadcast(x, shape)
    return x.with_values(x.values * np.broadcast_to(y, shape)[x.places])


def floored(x: Any, y: Any, quotient: Any = np.floor_divide) -> Any:
    """Divide what is there by a number, and round down or as ``quotient`` does."""
    if not _is_number(y):
        raise RuntimeError(_DIVISOR.format(" floor", list(y.shape)))
    found = x.coalesce()
    return found.with_values(quotient(found.values, y))


def _is_number(value: Any) -> bool:
    return not isinstance(value, SparseArray) and np.ndim(value) == 0


def _intersection(x: SparseArray, y: SparseArray) -> SparseArray:
    """Multiply two sparse arrays: what is left is where both have elements."""
    if not y.ndim and (x.ndim or not x.coalesced):
        return product(np.multiply, x, y.todense())
    if not x.ndim:
        return product(np.multiply, y, x.todense())
    count = x.sparse_dim
    places, others = x.shape[:count], y.shape[:count]
    if (x.ndim, count, places) != (y.ndim, y.sparse_dim, others):
        raise RuntimeError(_ANOTHER_SHAPE)
    factors = y.todense()[x.places]
    if not count:  # what is stored has no coordinates
        factors = np.broadcast_to(factors, (len(x.values), *factors.shape))
    kept = (factors != 0).any(tuple(range(1, factors.ndim)))
    values = x.values[kept] * factors[kept]
    return SparseArray(x.indices[:, kept], values, (*places, *values.shape[1:]))


def matrices(x: Any, y: Any) -> Any:
    """Multiply sparse matrices (b, n, m) pairwise with dense ones (b, m, p)."""
    if isinstance(y, SparseArray):
        raise RuntimeError("bmm_sparse: Tensor 'mat2' must be dense")
    dense = x.ndim - x.sparse_dim
    for kind, count, wanted in (("dense", dense, 0), ("sparse", x.sparse_dim, 3)):
        if count != wanted:
            raise RuntimeError(
                f"bmm_sparse: Tensor 'self' must have {wanted} {kind} dims, but has "
                f"{count}"
            )
    if y.ndim != 3:
        raise RuntimeError(
            f"bmm_sparse: Tensor 'mat2' must have 3 dims, but has {y.ndim}"
        )
    for mine, theirs in ((0, 0), (2, 1)):
        if x.shape[mine] != y.shape[theirs]:
            raise RuntimeError(
                f"bmm_sparse: 'self.size({mine})' and 'mat2.size({theirs})' must match"
            )
    batch, rows, columns = x.places
    found = np.zeros((*x.shape[:2], y.shape[2]), np.result_type(x.dtype, y.dtype))
    np.add.at(found, (batch, rows), x.values[:, None] * y[batch, columns])
    return found


def broadcast(array: SparseArray, shape: tuple[int, ...]) -> SparseArray:
    """Repeat the elements along new dimensions, and along those of size 1.

    >>> import numpy as np
    >>> from gradtape._sparse.array import SparseArray
    >>> one = SparseArray(np.array([[0]]), np.array([5.0]), (1,))
    >>> broadcast(one, (2, 2)).todense()
    array([[5., 5.],
           [5., 5.]])
    """
    lead, sparse = len(shape) - array.ndim, array.sparse_dim
    count = array.indices.shape[1]
    wide = [
        d
        for d in range(lead + sparse)
        if d < lead or (array.shape[d - lead] == 1 != shape[d])
    ]
    sizes = tuple(shape[d] for d in wide)
    times = prod(sizes)
    indices = np.zeros((lead + sparse, times * count), np.int64)
    indices[lead:] = np.tile(array.indices, times)
    if wide:
        indices[wide] = np.indices(sizes).reshape(len(wide), -1).repeat(count, 1)
    inner = np.broadcast_to(array.values, (count, *shape[lead + sparse :]))
    values = np.concatenate([inner] * times) if times else inner[:0]
    return SparseArray(indices, values, shape)


def check_vector(mat: Any, vec: Any) -> None:
    """Refuse a sparse matrix and a vector that do not fit, in words of their own."""
    if (mat.ndim, vec.ndim) != (2, 1):
        raise RuntimeError(
            "mv: two tensor dim should be 2 and 1, but got SparseTensor Dim: "
            f"{mat.ndim}Tensor Dim: {vec.ndim}"
        )
    if mat.shape[1] != vec.shape[0]:
        raise RuntimeError("mv: expected self.size(-1) == vec.size(-1)")
