"""SparseArray: coordinates and values, where a tensor otherwise has an array.

It answers to what the engine asks of arrays (shape, dtype, strides, copies, arithmetic),
so a sparse tensor is a tensor like any other, and sparse gradients flow through the
backward loop as they are. NumPy's functions hand their work over to it; what it cannot
do is refused as PyTorch refuses it.
"""

from __future__ import annotations

from math import prod
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ._backend import _BY_TYPE, NUMPY

_REFUSED = (
    "Could not run 'aten::{name}' with arguments from the 'SparseCPU' backend. This "
    "could be because the operator doesn't exist for this backend, or was omitted "
    "during the selective/custom build process (if using custom build)."
)
_KEEP_ZERO = {
    *("absolute", "arcsin", "arcsinh", "arctan", "arctanh", "ceil", "deg2rad", "expm1"),
    *("floor", "isinf", "isnan", "log1p", "rad2deg", "rint", "sign", "sin", "sinh"),
    *("sqrt", "square", "tan", "tanh", "trunc"),
}
_LINEAR = {"negative", "positive", "conjugate"}
_NAMES = {"absolute": "abs", "negative": "neg", "multiply": "mul", "power": "pow"}


class SparseArray(NDArrayOperatorsMixin):
    """An array of which only some elements are kept, each with its coordinates.

    ``indices`` has a column per element and a row per sparse dimension; ``values`` may
    have further, dense dimensions. Coordinates may repeat: their values add up.
    """

    __slots__ = ("__weakref__", "coalesced", "indices", "shape", "values")

    base = None
    flags = SimpleNamespace(c_contiguous=True, f_contiguous=False, writeable=True)
    flags.forc = True

    def __init__(
        self,
        indices: Any,
        values: Any,
        shape: tuple[int, ...],
        coalesced: bool = False,
    ) -> None:
        self.indices = indices
        self.values = values
        self.shape = shape
        self.coalesced = coalesced or indices.shape[1] < 2

    # ---- what arrays have ----------------------------------------------------------

    @property
    def dtype(self) -> Any:
        """The dtype of the values."""
        return self.values.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions, sparse and dense."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements, zeros included."""
        return prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes per value."""
        return self.values.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept."""
        return self.values.nbytes + self.indices.nbytes

    @property
    def strides(self) -> tuple[int, ...]:
        """Zeros: elements lie nowhere."""
        return (0,) * len(self.shape)

    @property
    def sparse_dim(self) -> int:
        """How many dimensions have coordinates."""
        return int(self.indices.shape[0])

    @property
    def places(self) -> tuple[Any, ...]:
        """The coordinates as an index into an array of this shape."""
        return tuple(self.indices)

    def with_values(self, values: Any, coalesced: bool | None = None) -> SparseArray:
        """Return an array with other values at the same places."""
        known = self.coalesced if coalesced is None else coalesced
        return SparseArray(self.indices, values, self.shape, known)

    def copy(self, order: str = "K") -> SparseArray:
        """Return a copy with memory of its own."""
        found = self.with_values(self.values.copy())
        found.indices = self.indices.copy()
        return found

    def astype(self, dtype: Any, copy: bool = True, **_: Any) -> SparseArray:
        """Return the same with values of another dtype."""
        return self.with_values(self.values.astype(dtype, copy=copy))

    def conjugate(self) -> SparseArray:
        """Return the complex conjugate."""
        return self.with_values(self.values.conjugate())

    def swapaxes(self, first: int, second: int) -> SparseArray:
        """Exchange two sparse dimensions."""
        order = list(range(self.sparse_dim))
        order[first], order[second] = order[second], order[first]
        shape = [self.shape[d] for d in order] + [*self.shape[self.sparse_dim :]]
        return SparseArray(self.indices[order], self.values, tuple(shape))

    @property
    def T(self) -> SparseArray:
        """The transposed matrix."""
        return self.swapaxes(0, 1) if self.ndim == 2 else self

    # ---- the two forms -------------------------------------------------------------

    def todense(self) -> Any:
        """Return the array with all its zeros."""
        found = np.zeros(self.shape, self.dtype)
        if self.sparse_dim:
            np.add.at(found, self.places, self.values)
        else:
            found += self.values.sum(0).astype(self.dtype)
        return found

    def coalesce(self) -> SparseArray:
        """Return the same with every place once, in the order of rows."""
        if self.coalesced:
            return self
        extent = self.shape[: self.sparse_dim]
        flat = np.ravel_multi_index(self.places, extent) if extent else None
        if flat is None:
            total = self.values.sum(0, keepdims=True).astype(self.dtype)
            return SparseArray(self.indices[:, :1], total, self.shape, True)
        order = np.argsort(flat, kind="stable")
        ordered = flat[order]
        new = np.ones(len(flat), bool)
        new[1:] = ordered[1:] != ordered[:-1]
        begins = np.nonzero(new)[0]
        values = np.add.reduceat(self.values[order], begins, axis=0)
        return SparseArray(
            np.ascontiguousarray(self.indices[:, order[begins]]),
            values.astype(self.dtype, copy=False),
            self.shape,
            True,
        )

    # ---- arithmetic ----------------------------------------------------------------

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(value, SparseArray):
            self._adopt(value.copy())
        elif index is ... and np.ndim(value) == 0 and value == 0:
            empty = self.values[:0]
            self._adopt(SparseArray(self.indices[:, :0], empty, self.shape, True))
        else:
            raise refused("fill_.Scalar")

    def _adopt(self, other: SparseArray) -> None:
        self.indices, self.values = other.indices, other.values
        self.coalesced = other.coalesced

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            "can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first."
        )

    def __array_function__(
        self, function: Any, _types: Any, args: Any, options: Any
    ) -> Any:
        name = function.__name__
        if name in ("dot", "matmul"):
            return _matmul(np.matmul, *args)
        if name == "sum" and set(options) <= {"dtype"} and len(args) == 1:
            return self.values.sum(**options)
        if name in ("swapaxes", "copy"):
            return getattr(self, name)(*args[1:])
        if name == "concatenate":
            return _joined(*args, **options)
        raise refused(name)

    def __getitem__(self, index: Any) -> Any:
        """Return what one coordinate of a dimension selects, without the dimension."""
        at = index if isinstance(index, tuple) else (index,)
        if any(i != slice(None) for i in at[:-1]) or not isinstance(at[-1], int):
            raise refused("slice.Tensor")
        dim = len(at) - 1
        if dim >= self.sparse_dim:
            inner = (slice(None),) * (dim - self.sparse_dim + 1)
            values = self.values[(*inner, at[-1])]
            return SparseArray(
                self.indices,
                values,
                (*self.shape[:dim], *self.shape[dim + 1 :]),
                self.coalesced,
            )
        kept = self.indices[dim] == at[-1] % self.shape[dim]
        rest = np.delete(self.indices, dim, 0)[:, kept]
        shape = (*self.shape[:dim], *self.shape[dim + 1 :])
        found = SparseArray(rest, self.values[kept], shape, self.coalesced)
        return found if found.sparse_dim else found.todense()

    def __getattr__(self, name: str) -> Any:
        raise _RefusedAttribute(_REFUSED.format(name=_NAMES.get(name, name)))

    def __array_ufunc__(
        self, ufunc: Any, method: str, *inputs: Any, **options: Any
    ) -> Any:
        name = ufunc.__name__
        rule = _RULES.get(name)
        if method == "reduce" and name == "add" and options.get("axis") is None:
            return self.values.sum(dtype=options.get("dtype"))
        if method != "__call__" or rule is None:
            raise refused(name)
        out = options.get("out")
        if out is not None and not isinstance(out[0], SparseArray):
            return _scatter_add(ufunc, out[0], *inputs)
        found = rule(ufunc, *inputs)
        if out is None:
            return found
        out[0]._adopt(found)
        return out[0]


class _RefusedAttribute(NotImplementedError, AttributeError):
    """What arrays have and sparse ones have not: hasattr() says no, calls refuse."""


class NoMemoryError(NotImplementedError):
    """A view was asked for of a tensor whose elements lie nowhere."""


def refused(name: str) -> NotImplementedError:
    """Build PyTorch's error for what sparse tensors cannot do."""
    return NotImplementedError(_REFUSED.format(name=_NAMES.get(name, name)))


def _on_values(ufunc: Any, x: SparseArray) -> SparseArray:
    return x.with_values(ufunc(x.values))


def _on_sums(ufunc: Any, x: SparseArray) -> SparseArray:
    """Apply a function that keeps zeros, but not sums, to every place once."""
    return _on_values(ufunc, x.coalesce())


def _sum(ufunc: Any, x: Any, y: Any) -> Any:
    """Add or subtract; a dense operand makes the result dense."""
    if not isinstance(x, SparseArray):
        return _scatter_add(ufunc, np.array(x, dtype=np.result_type(x, y.dtype)), x, y)
    if not isinstance(y, SparseArray):
        found = np.array(y) if ufunc is np.add else np.negative(y)
        return _scatter_add(np.add, found, found, x)
    if x.shape != y.shape:
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same sizes, but "
            f"{list(x.shape)} != {list(y.shape)}"
        )
    if np.array_equal(x.indices, y.indices):
        return x.with_values(ufunc(x.values, y.values))
    added = y.values if ufunc is np.add else -y.values
    joined = SparseArray(
        np.concatenate([x.indices, y.indices], 1),
        np.concatenate([x.values, added]),
        x.shape,
    )
    return joined.coalesce() if x.coalesced and y.coalesced else joined


def _scatter_add(ufunc: Any, target: Any, x: Any, y: Any) -> Any:
    """Add the values of ``y`` to a dense array that holds ``x``."""
    if ufunc not in (np.add, np.subtract) or not isinstance(y, SparseArray):
        raise refused(ufunc.__name__)
    if target is not x and not np.shares_memory(target, x):
        target[...] = x
    values = y.values if ufunc is np.add else -y.values
    np.add.at(target, y.places or ..., values)
    return target


def _product(ufunc: Any, x: Any, y: Any) -> Any:
    """Multiply or divide by a number, or multiply place by place."""
    if isinstance(x, SparseArray) and np.ndim(_plain(y)) == 0:
        return x.with_values(ufunc(x.values, y))
    if ufunc is not np.multiply:
        raise refused("div")
    if not isinstance(x, SparseArray):
        return _product(ufunc, y, x)
    if isinstance(y, SparseArray):
        if x.indices is y.indices:
            return x.coalesce() * y.coalesce().todense()
        y = y.todense()
        x = x.coalesce()
        kept = (y[x.places] != 0).reshape(len(x.values), -1).any(1)
        x = SparseArray(x.indices[:, kept], x.values[kept], x.shape, True)
    return x.with_values(x.values * y[x.places])


def _plain(value: Any) -> Any:
    return value.values if isinstance(value, SparseArray) else value


def _power(ufunc: Any, x: Any, y: Any) -> Any:
    if not isinstance(x, SparseArray) or np.ndim(_plain(y)):
        raise refused("pow")
    found = x.coalesce()
    return found.with_values(ufunc(found.values, y))


def _joined(arrays: Any, axis: int = 0, **_: Any) -> SparseArray:
    """Join sparse arrays along a sparse dimension."""
    if not all(isinstance(a, SparseArray) for a in arrays):
        raise refused("cat")
    dim = axis % arrays[0].ndim
    if dim >= arrays[0].sparse_dim:
        raise refused("cat")
    shape, moved, start = list(arrays[0].shape), [], 0
    for each in arrays:
        indices = each.indices.copy()
        indices[dim] += start
        moved.append(indices)
        start += each.shape[dim]
    shape[dim] = start
    values = np.concatenate([a.values for a in arrays])
    return SparseArray(np.concatenate(moved, 1), values, tuple(shape))


def _matmul(ufunc: Any, x: Any, y: Any) -> Any:
    if not isinstance(x, SparseArray):
        return _matmul(ufunc, y.T, x.T).T
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
    places = np.nonzero((array != 0).any(rest) if rest else array)
    indices = np.array(places, np.int64).reshape(sparse_dim, -1)
    return SparseArray(indices, array[places], array.shape, True)


_RULES: dict[str, Any] = {
    **dict.fromkeys(_KEEP_ZERO, _on_sums),
    **dict.fromkeys(_LINEAR, _on_values),
    **dict.fromkeys(("add", "subtract"), _sum),
    **dict.fromkeys(("multiply", "divide", "true_divide"), _product),
    "matmul": _matmul,
    "power": _power,
}


class SparseBackend:
    """What the engine asks of the library behind an array: no memory to look into."""

    name = "sparse"
    xp = NUMPY.xp
    array_type = SparseArray

    def pointer(self, array: Any) -> int:
        """Return nothing to point at."""
        return 0

    def flat(self, owner: Any) -> Any:
        """Refuse: there is no memory of all elements."""
        raise NoMemoryError("Cannot access storage of SparseTensorImpl")

    def strided(self, flat: Any, *_: Any) -> Any:
        """Refuse: elements lie nowhere."""
        raise refused("as_strided")

    def to_host(self, array: Any) -> Any:
        """Return the array, which is in host memory."""
        return array

    def device_index(self, array: Any) -> int | None:
        """Return no number: there is one host."""
        return None


_BY_TYPE[SparseArray] = SparseBackend()
