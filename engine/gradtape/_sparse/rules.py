"""What NumPy's functions do with sparse arrays, and the backend that these have."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .._backend import _BY_TYPE, NUMPY, Backend
from .array import (
    FUNCTIONS,
    INTO_DENSE,
    REDUCTIONS,
    SPARSE_PLUS_DENSE,
    UFUNCS,
    NoMemoryError,
    SparseArray,
    refused,
)

# ---- products ----

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


# ---- sums, joins and the rest ----

_KEEP_ZERO = {
    *("absolute", "arcsin", "arcsinh", "arctan", "arctanh", "ceil", "deg2rad", "expm1"),
    *("floor", "isinf", "isnan", "log1p", "rad2deg", "rint", "sign", "sin", "sinh"),
    *("sqrt", "square", "tan", "tanh", "trunc"),
}
_LINEAR = {"negative", "positive", "conjugate"}


def _on_values(ufunc: Any, x: SparseArray) -> SparseArray:
    return x.with_values(ufunc(x.values))


def _on_sums(ufunc: Any, x: SparseArray) -> SparseArray:
    """Apply a function that keeps zeros, but not sums, to every place once."""
    return _on_values(ufunc, x.coalesce())


def _sum(ufunc: Any, x: Any, y: Any) -> Any:
    """Add or subtract; a dense first operand makes the result dense."""
    if not isinstance(x, SparseArray):
        return _scatter_add(ufunc, np.array(x, dtype=np.result_type(x, y.dtype)), x, y)
    if not isinstance(y, SparseArray):
        raise RuntimeError(SPARSE_PLUS_DENSE)
    if x.shape != y.shape:
        raise RuntimeError(
            "add: expected sizes of 'self' and 'other' to match, but "
            f"{list(x.shape)} != {list(y.shape)}"
        )
    if not (x.indices.shape[1] and y.indices.shape[1]):
        return _with_nothing(ufunc, x, y)
    if x.sparse_dim != y.sparse_dim:
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same number of sparse dimensions,"
            f" but got self.sparse_dim()={x.sparse_dim} and other.sparse_dim()="
            f"{y.sparse_dim}"
        )
    both = x.coalesced and y.coalesced
    if x.values.flags.c_contiguous and y.values.flags.c_contiguous:
        return _merged(ufunc, x, y, both)
    return _chained(ufunc, x, y, both)


def _with_nothing(ufunc: Any, x: SparseArray, y: SparseArray) -> SparseArray:
    """Add where one of the operands specifies no element."""
    kind = np.result_type(x.dtype, y.dtype)
    if x.indices.shape[1] or not y.indices.shape[1]:
        return x.with_values(x.values.astype(kind), x.coalesced)
    values = y.values.astype(kind)
    return y.with_values(values if ufunc is np.add else -values, y.coalesced)


def _chained(ufunc: Any, x: SparseArray, y: SparseArray, once: bool) -> SparseArray:
    """Add by keeping all elements of both."""
    added = y.values if ufunc is np.add else -y.values
    indices = np.concatenate([x.indices, y.indices], 1)
    joined = SparseArray(indices, np.concatenate([x.values, added]), x.shape)
    return joined.coalesce() if once else joined


def _merged(ufunc: Any, x: SparseArray, y: SparseArray, once: bool) -> SparseArray:
    """Add as PyTorch does: merge both lists, making one of two equal heads.

    In such a merge an element of an unordered list follows the largest one before it.
    """
    mine, theirs = x.row_major_places(), y.row_major_places()
    if np.array_equal(mine, theirs):
        return x.with_values(ufunc(x.values, y.values), once)
    first, second = np.maximum.accumulate(mine), np.maximum.accumulate(theirs)
    _, at, taken = np.intersect1d(first, second, return_indices=True)
    values = x.values.astype(np.result_type(x.dtype, y.dtype))
    values[at] = ufunc(values[at], y.values[taken])
    left = np.ones(len(theirs), bool)
    left[taken] = False
    order = np.argsort(np.concatenate([first, second[left]]), kind="stable")
    added = y.values[left] if ufunc is np.add else -y.values[left]
    return SparseArray(
        np.concatenate([x.indices, y.indices[:, left]], 1)[:, order],
        np.concatenate([values, added])[order],
        x.shape,
        once,
    )


def _scatter_add(ufunc: Any, target: Any, x: Any, y: Any) -> Any:
    """Add the values of ``y`` to a dense array that holds ``x``."""
    if ufunc not in (np.add, np.subtract) or not isinstance(y, SparseArray):
        raise refused(ufunc.__name__)
    if np.shape(x) != y.shape:
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same size, but self has size "
            f"{list(np.shape(x))} while other has size {list(y.shape)} (FYI: "
            "dense-sparse addition does not currently support broadcasting)"
        )
    if target is not x and not np.shares_memory(target, x):
        target[...] = x
    added = y if ufunc is np.add else y.with_values(-y.values)
    added.add_to(target)
    return target


def _not_below(ufunc: Any, x: Any, y: Any) -> Any:
    """Cut negative elements off: the one maximum that keeps zeros."""
    if not isinstance(x, SparseArray) or np.ndim(_plain(y)) or y != 0:
        raise refused("maximum")
    return _on_values(lambda values: ufunc(values, y), x.coalesce())


def _plain(value: Any) -> Any:
    return value.values if isinstance(value, SparseArray) else value


def _power(ufunc: Any, x: Any, y: Any) -> Any:
    if not isinstance(x, SparseArray) or np.ndim(_plain(y)):
        raise refused("pow")
    if y == 0:
        raise RuntimeError(
            "pow: cannot raise to zeroth power on sparse tensor; it would make the "
            "result tensor dense"
        )
    found = x.coalesce()
    return found.with_values(ufunc(found.values, y))


def _joined(arrays: Any, axis: int = 0, **_: Any) -> SparseArray:
    """Join sparse arrays along a sparse dimension."""
    for position, array in enumerate(arrays):
        if not isinstance(array, SparseArray):
            raise RuntimeError(
                "Concatenating sparse tensors, but a dense tensor was found at "
                f"position {position}."
            )
    dim = axis % arrays[0].ndim
    _check_alike(arrays, dim)
    if dim >= arrays[0].sparse_dim:
        return _joined_inside(arrays, dim)
    shape, moved, start = list(arrays[0].shape), [], 0
    for each in arrays:
        indices = each.indices.copy()
        indices[dim] += start
        moved.append(indices)
        start += each.shape[dim]
    shape[dim] = start
    values = np.concatenate([a.values for a in arrays])
    return SparseArray(np.concatenate(moved, 1), values, tuple(shape))


def _check_alike(arrays: Any, dim: int) -> None:
    first = arrays[0]
    kinds, shape = (first.sparse_dim, first.ndim - first.sparse_dim), list(first.shape)
    for position, each in enumerate(arrays):
        fits = [*each.shape[:dim], *shape[dim : dim + 1], *each.shape[dim + 1 :]]
        if fits != shape:
            raise RuntimeError(
                f"All tensors must have the same shape: {shape} (except in "
                f"the concatenating dimension), but found shape: {list(each.shape)} at "
                f"position {position}."
            )
        found = each.sparse_dim, each.ndim - each.sparse_dim
        if found != kinds:
            raise RuntimeError(
                "All tensors must have the same sparse_dim and dense_dim: "
                f"{kinds[0]}, {kinds[1]}, but tensor at position {position} has "
                f"{found[0]}, {found[1]}."
            )


def _joined_inside(arrays: Any, dim: int) -> SparseArray:
    """Join along a dense dimension: each array has zeros where the others are."""
    axis = dim - arrays[0].sparse_dim + 1
    whole, start, values = sum(a.shape[dim] for a in arrays), 0, []
    for each in arrays:
        room = [(0, 0)] * each.values.ndim
        room[axis] = (start, whole - start - each.shape[dim])
        values.append(np.pad(each.values, room))
        start += each.shape[dim]
    first = arrays[0].shape
    shape = (*first[:dim], whole, *first[dim + 1 :])
    indices = np.concatenate([a.indices for a in arrays], 1)
    return SparseArray(indices, np.concatenate(values), shape)


def _matmul(ufunc: Any, x: Any, y: Any) -> Any:
    if not isinstance(x, SparseArray):
        return _matmul(ufunc, y.swapaxes(0, 1), x.T).T
    if x.sparse_dim != 2:
        raise RuntimeError(f"addmm: matrices expected, got {x.sparse_dim}D tensor")
    if isinstance(y, SparseArray):
        return from_dense(_matmul(ufunc, x, y.todense()), 2)
    rows, columns = x.places
    scale = x.values if y.ndim == 1 else x.values[:, None]
    found = np.zeros((x.shape[0], *y.shape[1:]), np.result_type(x.dtype, y.dtype))
    np.add.at(found, rows, scale * y[columns])
    return found


def from_dense(array: Any, sparse_dim: int) -> SparseArray:
    """Return the nonzero elements, or slices, of an array with their coordinates."""
    rest = tuple(range(sparse_dim, array.ndim))
    kept = np.asarray((array != 0).any(rest))
    if not array.ndim:  # one element or none, with no coordinates
        indices = np.zeros((0, int(kept)), np.int64)
        return SparseArray(indices, array[kept], array.shape, True)
    places = np.nonzero(kept)
    indices = np.array(places, np.int64).reshape(sparse_dim, -1)
    return SparseArray(indices, array[places], array.shape, True)


def _stacked(arrays: Any, axis: int = 0, **_: Any) -> SparseArray:
    """Join sparse arrays along a new dimension."""
    return _joined([a.expanded(axis % (a.ndim + 1)) for a in arrays], axis)


def _total(array: SparseArray, axis: Any = None, **options: Any) -> Any:
    """Add up all elements, the only sum that leaves no dimension."""
    if axis is not None and set(np.atleast_1d(axis)) < set(range(array.ndim)):
        raise refused("sum.dim_IntList")
    return array.values.sum(**options)


UFUNCS.update(
    {
        **dict.fromkeys(_KEEP_ZERO, _on_sums),
        **dict.fromkeys(_LINEAR, _on_values),
        **dict.fromkeys(("add", "subtract"), _sum),
        **dict.fromkeys(("multiply", "divide", "true_divide"), product),
        "matmul": _matmul,
        "maximum": _not_below,
        "power": _power,
    }
)
REDUCTIONS["add"] = _total
REDUCTIONS["logical_or"] = lambda x, axis=None, **_: x.any()
INTO_DENSE.update({"add": _scatter_add, "subtract": _scatter_add})
FUNCTIONS.update(
    {
        "concatenate": _joined,
        "dot": lambda x, y: _matmul(np.matmul, x, y),
        "matmul": lambda x, y: _matmul(np.matmul, x, y),
        "stack": _stacked,
        "sum": _total,
        "zeros_like": lambda x, *_, **__: x.emptied(),
    }
)


# ---- the backend ----


class SparseBackend:
    """What the engine asks of the library behind an array, answered for sparse ones."""

    name = "sparse"
    xp = NUMPY.xp
    array_type: type = SparseArray

    def pointer(self, array: Any) -> int:
        """Return nothing to point at."""
        return 0

    def flat(self, owner: Any) -> Any:
        """Refuse: there is no memory of all elements."""
        raise NoMemoryError("Cannot access storage of SparseTensorImpl")

    def strided(
        self,
        flat: Any,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        offset: int,
    ) -> Any:
        """Refuse: elements lie nowhere."""
        raise refused("as_strided")

    def to_host(self, array: Any) -> Any:
        """Return the array, which is in host memory."""
        return array

    def device_index(self, array: Any) -> int | None:
        """Return no number: there is one host."""
        return None


_SPARSE: Backend = SparseBackend()
_BY_TYPE[SparseArray] = _SPARSE
