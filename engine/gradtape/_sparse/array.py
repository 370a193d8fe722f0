"""SparseArray: coordinates and values, where a tensor otherwise has an array.

It answers to what the engine asks of arrays (shape, dtype, strides, copies, sums), so a
sparse tensor is a tensor like any other, and sparse gradients flow through the backward
loop as they are. NumPy's functions hand their work over to the rules that
rules.py lists here; the rest is refused as PyTorch refuses it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from .parts import SparseParts

_REFUSED = (
    "Could not run 'aten::{name}' with arguments from the '{backend}' backend. This "
    "could be because the operator doesn't exist for this backend, or was omitted "
    "during the selective/custom build process (if using custom build)."
)
_NAMES = {
    "absolute": "abs",
    "clip": "clamp",
    "equal": "eq.Tensor",
    "greater": "gt.Scalar",
    "less": "lt.Scalar",
    "multiply": "mul",
    "negative": "neg",
    "power": "pow",
    "squeeze": "as_strided",
}
_SENTENCES = {
    "broadcast_to": "expand is unsupported for Sparse tensors",
    "reshape": "reshape is not implemented for sparse tensors",
    "tolist": "Cannot access data pointer of Tensor that doesn't have storage",
}

SPARSE_PLUS_DENSE = (
    "add(sparse, dense) is not supported. Use add(dense, sparse) instead."
)

_NO_ROOM = """ on a non-empty sparse tensor is not supported.
You could try the following options:
1. If you need an empty sparse tensor of this size, call `x = \
torch.sparse_coo_tensor(size)`.
2. If you need to resize this tensor, you have the following options:
    1. For both sparse and dense dimensions, keep the number of them constant and the \
size of them non-shrinking, and then try the same call again.
    2. Or, create a new sparse tensor with the correct indices and values from this \
sparse tensor."""

UFUNCS: dict[str, Any] = {}
"""By ufunc: how to compute it with sparse operands, ``rule(ufunc, *operands)``."""

REDUCTIONS: dict[str, Any] = {}
"""By ufunc: what its ``reduce`` does, ``rule(array, axis, dtype)``."""

INTO_DENSE: dict[str, Any] = {}
"""By ufunc: how to write to a dense array, ``rule(ufunc, out, *operands)``."""

FUNCTIONS: dict[str, Any] = {}
"""By NumPy function: the same, ``rule(*args, **options)``."""

KEEP_ZERO = {
    *("erf", "erfinv", "isneginf", "isposinf", "log1p", "nan_to_num"),
    *("sgn", "sign", "signbit"),
}
"""Ops that make zeros of zeros in several calls of NumPy: computed on the values."""


class SparseArray(SparseParts, NDArrayOperatorsMixin):
    """Coordinates and values that take part in computations as an array does."""

    __slots__ = ()

    # ---- the dimensions ------------------------------------------------------------

    def expanded(self, dim: int) -> SparseArray:
        """Return the array with a dimension of size one added."""
        shape = (*self.shape[:dim], 1, *self.shape[dim:])
        if dim > self.sparse_dim:
            values = np.expand_dims(self.values, dim - self.sparse_dim + 1)
            return SparseArray(self.indices, values, shape, self.coalesced)
        indices = np.insert(self.indices, dim, 0, axis=0)
        return SparseArray(indices, self.values, shape, self.coalesced)

    def swapaxes(self, first: int, second: int) -> SparseArray:
        """Exchange two dimensions."""
        if max(first, second) >= self.sparse_dim:
            raise RuntimeError(
                "sparse transpose: transposed dimensions must be sparse Got "
                f"sparse_dim: {self.sparse_dim}, d0: {first}, d1: {second}"
            )
        order = list(range(self.ndim))
        order[first], order[second] = order[second], order[first]
        found = self.transpose(tuple(order))
        found.coalesced = not found.indices.shape[1]  # nothing needs no sorting
        return found

    @property
    def T(self) -> SparseArray:  # noqa: N802 - NumPy's name
        """The transposed matrix."""
        self.check_matrix("t")
        return self.swapaxes(0, 1) if self.ndim == 2 else self

    def check_matrix(self, name: str) -> None:
        """Refuse what has no rows and columns, or keeps some of them dense."""
        dense = self.ndim - self.sparse_dim
        if dense or self.sparse_dim > 2:
            raise RuntimeError(
                f"{name}() expects a tensor with <= 2 sparse and 0 dense dimensions, "
                f"but got {self.sparse_dim} sparse and {dense} dense dimensions"
            )

    def transpose(self, dims: tuple[int, ...]) -> SparseArray:
        """Put the dimensions in another order; sparse ones stay before dense ones."""
        order = [d % self.ndim for d in dims]
        count = self.sparse_dim
        if any(d >= count for d in order[:count]):
            raise RuntimeError(
                "permute(sparse_coo): transpositions between sparse and dense "
                "dimensions are not allowed.Only transpositions within sparse and "
                "dense dimensions are supported."
            )
        dense = (0, *(d - count + 1 for d in order[count:]))
        shape = tuple(self.shape[d] for d in order)
        indices = self.indices[order[:count]]
        found = SparseArray(indices, self.values.transpose(dense), shape)
        found.coalesced = self.coalesced and not any(dims[:1])  # as PyTorch has it
        return found

    def taken(self, places: Any, dim: int) -> SparseArray:
        """Return some positions of a dimension, in the order of ``places``."""
        shape = (*self.shape[:dim], len(places), *self.shape[dim + 1 :])
        if dim >= self.sparse_dim:
            values = np.take(self.values, places, dim - self.sparse_dim + 1)
            return SparseArray(self.indices, values, shape, self.coalesced)
        source = self.coalesce()
        order = np.argsort(source.indices[dim], kind="stable")
        known = source.indices[dim][order]
        first, last = (np.searchsorted(known, places, s) for s in ("left", "right"))
        counts = last - first
        steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        chosen = order[np.repeat(first, counts) + steps]
        indices = source.indices[:, chosen]
        indices[dim] = np.repeat(np.arange(len(places)), counts)
        return SparseArray(indices, source.values[chosen], shape)

    def rearranged(self, other: SparseArray) -> None:
        """Become another array, of another shape."""
        self.indices, self.values = other.indices, other.values
        self.shape, self.coalesced = other.shape, other.coalesced

    def resize(self, shape: tuple[int, ...], sparse_dim: int) -> None:
        """Take another size; the values in memory stay, new ones are zero."""
        count = self.indices.shape[1]
        values = np.zeros((count, *shape[sparse_dim:]), self.dtype)
        indices = self.indices if count else np.empty((sparse_dim, 0), np.int64)
        self.check_room(sparse_dim, shape)
        if count:
            values.flat[: self.values.size] = self.values.flat
        self.rearranged(SparseArray(indices, values, shape, self.coalesced))

    # ---- arithmetic ----------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        """Add as the backward loop does: what came later goes first.

        Programs add through the ufunc, which refuses a dense second operand.
        """
        return np.add(other, self)

    def any(self) -> bool:
        """Tell whether any of the values is not zero."""
        return bool(self.values.any())

    def fill(self, value: Any) -> None:
        """Set all elements to zero; there is no other number to fill with."""
        if value != 0:
            raise refused("fill_.Scalar")
        self._adopt(self.emptied())

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(value, SparseArray):
            self._adopt(value.copy())
        elif index is ... and np.ndim(value) == 0:
            self.fill(value)
        else:
            raise refused("fill_.Scalar")

    def _adopt(self, other: SparseArray) -> None:
        self.indices = other.indices
        self.values = other.values.astype(self.values.dtype, copy=False)
        self.shape, self.coalesced = other.shape, other.coalesced

    def check_room(self, sparse_dim: int, shape: tuple[int, ...]) -> None:
        """Refuse to take a smaller size, or one of other dimensions, with elements."""
        if not self.indices.shape[1]:
            return
        mine = self.sparse_dim
        for kind, one, two in (
            ("sparse", self.shape[:mine], shape[:sparse_dim]),
            ("dense", self.shape[mine:], shape[sparse_dim:]),
        ):
            if len(one) != len(two):
                counts = f"from {len(one)} to {len(two)}"
                raise RuntimeError(
                    f"changing the number of {kind} dimensions ({counts}){_NO_ROOM}"
                )
            if any(n > m for n, m in zip(one, two, strict=True)):
                sizes = f"from {list(one)} to {list(two)}"
                raise RuntimeError(
                    f"shrinking the size of {kind} dimensions ({sizes}){_NO_ROOM}"
                )

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            "can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first."
        )

    def __array_function__(
        self, function: Any, _types: Any, args: Any, options: Any
    ) -> Any:
        name = function.__name__
        if name in ("swapaxes", "copy"):
            return getattr(self, name)(*args[1:])
        rule = FUNCTIONS.get(name)
        if rule is None:
            raise refused(name)
        return rule(*args, **options)

    def __getitem__(self, index: Any) -> Any:
        """Return what one coordinate of a dimension selects, without the dimension."""
        at = index if isinstance(index, tuple) else (index,)
        if any(i != slice(None) for i in at[:-1]) or not isinstance(at[-1], int):
            raise refused("slice.Tensor")
        dim = len(at) - 1
        shape = (*self.shape[:dim], *self.shape[dim + 1 :])
        if dim >= self.sparse_dim:
            inner = (slice(None),) * (dim - self.sparse_dim + 1)
            return SparseArray(self.indices, self.values[(*inner, at[-1])], shape)
        kept = self.indices[dim] == at[-1] % self.shape[dim]
        rest = np.delete(self.indices, dim, 0)[:, kept]
        found = SparseArray(rest, self.values[kept], shape)
        return found if found.sparse_dim else found.todense()

    def __getattr__(self, name: str) -> Any:
        error = refused(name)
        if isinstance(error, NotImplementedError):
            raise RefusedAttributeError(*error.args)
        raise error

    def __array_ufunc__(
        self, ufunc: Any, method: str, *inputs: Any, **options: Any
    ) -> Any:
        name = ufunc.__name__
        out = options.get("out")
        dense = out is not None and not isinstance(out[0], SparseArray)
        rule = (INTO_DENSE if dense else UFUNCS).get(name)
        if method == "reduce" and name in REDUCTIONS:
            return REDUCTIONS[name](*inputs, **options)
        if method != "__call__" or rule is None:
            raise refused(name)
        if out is None:
            return rule(ufunc, *inputs)
        if dense:
            return rule(ufunc, out[0], *inputs)
        out[0]._adopt(rule(ufunc, *inputs))
        return out[0]


class RefusedAttributeError(NotImplementedError, AttributeError):
    """What arrays have and sparse ones have not: hasattr() says no, calls refuse."""


_OF_SUMS = {
    *("abs", "asin", "asinh", "atan", "atanh", "ceil", "deg2rad", "erf", "erfinv"),
    *("expm1", "floor", "log1p", "nan_to_num", "rad2deg", "relu", "round", "sgn"),
    *("sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc"),
}
"""Ops of the sums of repeated places, which cannot be written in place of the terms."""


def check_sums(name: str) -> None:
    """Refuse to write an op of sums to a tensor whose places may repeat."""
    if name in _OF_SUMS:
        raise RuntimeError(f"{name}_ requires coalesced input")


def no_elements(shape: tuple[int, ...], dtype: Any) -> SparseArray:
    """Return a sparse array of zeros, all its dimensions with coordinates."""
    indices = np.empty((len(shape), 0), np.int64)
    return SparseArray(indices, np.empty(0, dtype), shape, True)


class NoMemoryError(NotImplementedError):
    """A view was asked for of a tensor whose elements lie nowhere."""


def refused(name: str, backend: str = "SparseCPU") -> Exception:
    """Build PyTorch's error for what sparse tensors, or dense ones, cannot do."""
    if name in _SENTENCES:
        return RuntimeError(_SENTENCES[name])
    name = _NAMES.get(name, name)
    return NotImplementedError(_REFUSED.format(name=name, backend=backend))
