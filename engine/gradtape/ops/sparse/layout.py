"""Sparse tensors: turning them dense and back, and reading their parts."""

from __future__ import annotations

from typing import Any

from ..._dispatch.declare import OPS, Array, method
from ..._dispatch.operands import argument_error
from ..._dispatch.view_history import check_inplace
from ..._modes.grad_mode import mode
from ..._sparse.array import SparseArray, refused
from ..._sparse.rules import from_dense
from ..._tensor.memory import keeps_values_elsewhere
from ..._tensor.tensor import Tensor, wrap
from .._support.operands import hidden_op
from ..memory.memory_format import sparse_coo, strided

_COO = "{name} expected sparse coordinate tensor layout but got Strided"


def is_sparse(tensor: Any) -> bool:
    """Tell whether a tensor keeps coordinates and values instead of an array."""
    return type(tensor._data) is SparseArray


def _values_at(xp: Any, array: Any, indices: Any) -> Any:
    """Return what an array, dense or sparse, has at some places."""
    if type(array) is SparseArray:
        return array.values_at(indices)
    return array[tuple(indices)]


# ---- the two forms ----


@hidden_op(
    {"values": lambda F, grad, indices: F._sparse_values_at(grad, indices)},
    name="_sparse_coo_tensor_with_dims_and_tensors",
    key="_sparse_coo",
    node="SparseCooTensorWithDimsAndTensorsBackward0",
)
def _sparse_coo(
    xp: Any, values: Array, indices: Array, size: tuple[int, ...], coalesced: bool
) -> Any:
    return SparseArray(indices, values, size, coalesced)


@hidden_op(
    {
        "self": lambda F, grad, indices, self_shape: F._sparse_coo(
            grad, indices, tuple(self_shape), False
        )
    }
)
def _sparse_values_at(xp: Any, self: Array, indices: Array) -> Any:
    """Read the elements at the coordinates in ``indices``."""
    return _values_at(xp, self, indices)


@hidden_op(
    {
        "self": lambda F, grad, self, unmasked_dim: (
            F._sparse_like(grad, self)
            if unmasked_dim is None
            else F._to_sparse(grad, unmasked_dim)
        )
    },
    name="_to_dense",
    node="ToDenseBackward0",
)
def _to_dense(xp: Any, self: Array, unmasked_dim: int | None = None) -> Any:
    """Fill in the zeros; they too get a gradient if a sparse dimension is given."""
    return self.todense()


@hidden_op({"self": lambda F, grad: F._densified(grad)})
def _sparse_like(xp: Any, self: Array, pattern: Array) -> Any:
    """Keep the elements of a gradient at the places of a sparse tensor.

    Each place counts once: elements of one place add up.
    """
    if type(pattern) is not SparseArray:
        return self
    pattern = pattern.coalesce()
    values = _values_at(xp, self, pattern.indices)
    return pattern.with_values(values)


@hidden_op(
    {"self": lambda F, grad: F._densified(grad)},
    name="_to_sparse",
    node="ToSparseBackward1",
    recorded="real",
)
def _to_sparse(xp: Any, self: Array, sparse_dim: int) -> Any:
    return from_dense(self, sparse_dim)


@hidden_op({"self": lambda F, grad: grad})
def _densified(xp: Any, self: Array) -> Any:
    """Return a gradient with all its zeros."""
    return self.todense() if type(self) is SparseArray else self


@hidden_op({"self": lambda F, grad: grad}, name="_coalesce")
def _coalesce(xp: Any, self: Array) -> Any:
    return self.coalesce()


@method("to_sparse", "to_sparse_coo")
def to_sparse(
    self: Tensor,
    sparse_dim: int | None = None,
    *,
    layout: Any = None,
    blocksize: Any = None,
    dense_dim: int | None = None,
) -> Tensor:
    """Return the nonzero elements as a sparse tensor; gradients flow back.

    ``sparse_dim`` is how many dimensions get coordinates, by default all. Raises
    RuntimeError for a number that the tensor does not have.
    """
    if layout not in (None, sparse_coo):
        raise NotImplementedError(f"to_sparse to layout {layout} is not supported")
    if is_sparse(self):
        return self
    if sparse_dim == 0 < self.dim():
        raise RuntimeError(
            "dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0"
        )
    count = self.dim() if sparse_dim is None else int(sparse_dim)
    if not (0 < count <= self.dim() or count == self.dim() == 0):
        raise RuntimeError(
            "dense_to_sparse: sparse_dim argument must be in "
            f"[0,{max(self.dim(), 1)}] range, but {count} is given"
        )
    return _to_sparse(self, count)


@method()
def to_dense(
    self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None
) -> Tensor:
    """Return the tensor with all its zeros; a dense one is returned itself.

    The gradient has the elements that the tensor stores, or with
    ``masked_grad=False`` all that are not zero.

    Raises RuntimeError for a sparse tensor and a dtype.
    """
    if not is_sparse(self):
        return self if dtype is None else self.to(dtype)
    if dtype is not None:
        raise RuntimeError("dtype argument is not supported by sparse_to_dense")
    return _to_dense(self, self._data.sparse_dim if masked_grad is False else None)


# ---- reading them ----


def _sparse_data(self: Tensor, name: str, sentence: str = _COO) -> SparseArray:
    if not is_sparse(self):
        raise RuntimeError(sentence.format(name=name))
    return self._data


def _raw_data(self: Tensor, name: str) -> SparseArray:
    if not is_sparse(self):
        raise refused(name, "CPU")
    return self._data


def _coalesced_data(self: Tensor, name: str, sentence: str = _COO) -> SparseArray:
    data = _sparse_data(self, name, sentence)
    if not data.coalesced:
        raise RuntimeError(
            f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first"
        )
    return data


@method()
def indices(self: Tensor) -> Tensor:
    """Return the coordinates, a column per value; the tensor must be coalesced."""
    return wrap(_coalesced_data(self, "indices").indices)


@method()
def values(self: Tensor) -> Tensor:
    """Return the values, gradients included; the tensor must be coalesced."""
    data = _coalesced_data(
        self, "values", "{name} expected sparse tensor layout but got Strided"
    )
    if mode.grad and self.requires_grad:
        return _values(self, wrap(data.indices))
    return wrap(data.values)


@hidden_op(
    {
        "self": lambda F, grad, indices, self_shape: F._sparse_coo(
            grad, indices, tuple(self_shape), True
        )
    },
    name="values",
    key="_values",
)
def _values(xp: Any, self: Array, indices: Array) -> Any:
    return self.values.copy()


@method()
def _indices(self: Tensor) -> Tensor:
    return wrap(_raw_data(self, "_indices").indices)


@method("_values")
def _raw_values(self: Tensor) -> Tensor:
    return wrap(_raw_data(self, "_values").values)


@method()
def _nnz(self: Tensor) -> int:
    return int(_raw_data(self, "_nnz").indices.shape[1])


@method("_coalesced_")
def _declare_coalesced(self: Tensor, coalesced: bool) -> Tensor:
    _raw_data(self, "_coalesced_").coalesced = coalesced
    return self


@method()
def is_coalesced(self: Tensor) -> bool:
    """Tell whether every place occurs once, in order."""
    return _sparse_data(self, "is_coalesced").coalesced


@method()
def coalesce(self: Tensor) -> Tensor:
    """Return the sparse tensor with every place once: values of repeated ones add up.

    Raises RuntimeError for a dense tensor.
    """
    data = _sparse_data(self, "coalesce")
    return self if data.coalesced else _coalesce(self)


@method("sparse_dim", "_dimI")
def sparse_dim(self: Tensor) -> int:
    """Return how many dimensions have coordinates: 0 for a dense tensor."""
    return self._data.sparse_dim if is_sparse(self) else 0


@method("dense_dim", "_dimV")
def dense_dim(self: Tensor) -> int:
    """Return how many dimensions are kept whole."""
    return self.dim() - (self._data.sparse_dim if is_sparse(self) else 0)


@method()
def sparse_resize_(self: Tensor, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    """Give a sparse tensor another size, in place; what it has stays where it is.

    Raises RuntimeError where a dimension would shrink or change its kind.
    """
    if not is_sparse(self):
        raise refused("sparse_resize_", "CPU")
    check_inplace(self, self.requires_grad)
    if len(size) != sparse_dim + dense_dim:
        raise RuntimeError(
            "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = "
            f"{len(size)}, sparse_dim = {sparse_dim}, dense_dim = {dense_dim}"
        )
    self._data.resize(tuple(size), sparse_dim)
    return self


@method()
def sparse_resize_and_clear_(
    self: Tensor, size: Any, sparse_dim: int, dense_dim: int
) -> Tensor:
    """Give a sparse tensor another size, in place, and no elements."""
    if not is_sparse(self):
        raise refused("sparse_resize_and_clear_", "CPU")
    check_inplace(self, self.requires_grad)
    self._data.fill(0)
    return sparse_resize_(self, size, sparse_dim, dense_dim)


@method()
def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """Return the elements at the places of the sparse tensor ``mask``."""
    if not isinstance(mask, Tensor):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise argument_error(OPS["_sparse_like"], "mask", 1, mask)
    pattern = _sparse_data(mask, "sparse_mask")
    found = _sparse_values_at(self, wrap(pattern.indices))
    return _sparse_coo(
        found, wrap(pattern.indices), tuple(self.shape), pattern.coalesced
    )


def _layout(self: Tensor) -> Any:
    if keeps_values_elsewhere(self):
        return self._data.layout
    return sparse_coo if is_sparse(self) else strided


Tensor.is_sparse = property(is_sparse)
Tensor.layout = property(_layout)
