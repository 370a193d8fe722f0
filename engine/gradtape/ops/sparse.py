"""Sparse tensors: making them, reading them, and turning them dense and back."""

from __future__ import annotations

from typing import Any

from .._apply import argument_error
from .._define import FUNCTIONS, OPS, Array, method, op, public
from .._dtypes import int64, parse_dtype
from .._mode import mode
from .._sparse import SparseArray, from_dense, refused
from .._tensor import Tensor, wrap
from ._operand import HIDDEN
from .build import as_tensor
from .formats import sparse_coo, strided

_COO = "{name} expected sparse coordinate tensor layout but got Strided"


def is_sparse(tensor: Any) -> bool:
    """Tell whether a tensor keeps coordinates and values instead of an array."""
    return type(tensor._data) is SparseArray


def _values_at(xp: Any, array: Any, indices: Any) -> Any:
    """Return what an array, dense or sparse, has at some places."""
    if type(array) is SparseArray:
        if array.indices is indices:
            return array.values
        array = array.todense()
    return array[tuple(indices)]


# ---- the two forms ----


@op(
    {"values": lambda F, grad, indices: F._sparse_values_at(grad, indices)},
    name="_sparse_coo_tensor_with_dims_and_tensors",
    key="_sparse_coo",
    node="SparseCooTensorWithDimsAndTensorsBackward0",
    **HIDDEN,
)
def _sparse_coo(
    xp: Any, values: Array, indices: Array, size: tuple[int, ...], coalesced: bool
) -> Any:
    return SparseArray(indices, values, size, coalesced)


@op(
    {
        "self": lambda F, grad, indices, self_shape: F._sparse_coo(
            grad, indices, tuple(self_shape), False
        )
    },
    **HIDDEN,
)
def _sparse_values_at(xp: Any, self: Array, indices: Array) -> Any:
    """Read the elements at the coordinates in ``indices``."""
    return _values_at(xp, self, indices)


@op(
    {"self": lambda F, grad, self: F._sparse_like(grad, self)},
    name="_to_dense",
    node="ToDenseBackward0",
    **HIDDEN,
)
def _to_dense(xp: Any, self: Array) -> Any:
    return self.todense()


@op({"self": lambda F, grad: grad}, **HIDDEN)
def _sparse_like(xp: Any, self: Array, pattern: Array) -> Any:
    """Keep the elements of a gradient at the places of a sparse tensor."""
    if type(pattern) is not SparseArray:
        return self
    values = _values_at(xp, self, pattern.indices)
    return pattern.with_values(values)


@op(
    {"self": lambda F, grad: F._densified(grad)},
    name="_to_sparse",
    node="ToSparseBackward1",
    **HIDDEN,
)
def _to_sparse(xp: Any, self: Array, sparse_dim: int) -> Any:
    return from_dense(self, sparse_dim)


@op({"self": lambda F, grad: grad}, **HIDDEN)
def _densified(xp: Any, self: Array) -> Any:
    """Return a gradient with all its zeros."""
    return self.todense() if type(self) is SparseArray else self


@op({"self": lambda F, grad: grad}, name="_coalesce", **HIDDEN)
def _coalesce(xp: Any, self: Array) -> Any:
    return self.coalesce()


# ---- making them ----


@public
def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """Return a sparse tensor with ``values`` at the coordinates in ``indices``.

    ``indices`` has a row per sparse dimension and a column per value; the size is the
    smallest that holds them unless given. Raises RuntimeError where they do not match.

    >>> import gradtape as torch
    >>> torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    if values is None:
        found = _empty(indices if size is None else size, dtype)
    else:
        found = _filled(indices, values, size, dtype, device, check_invariants)
        if is_coalesced:
            found._data.coalesced = True
    if requires_grad:
        found = found.detach().requires_grad_()
    return found


def _empty(size: Any, dtype: Any) -> Tensor:
    shape = tuple(int(n) for n in size)
    kept = FUNCTIONS["empty"](0, dtype=dtype)._data
    places = FUNCTIONS["empty"](len(shape), 0, dtype=int64)._data
    return wrap(SparseArray(places, kept, shape, True))


def _filled(
    indices: Any, values: Any, size: Any, dtype: Any, device: Any, check: bool | None
) -> Tensor:
    places = as_tensor(indices, device=device).long()
    kind = None if dtype is None else parse_dtype(dtype, "sparse_coo_tensor")
    kept = as_tensor(values, device=device)
    kept = kept if kind is None else kept.to(kind)
    rows = places._data
    if rows.ndim != 2:
        rows = rows.reshape(len(rows), -1) if rows.ndim else rows.reshape(1, -1)
    if not kept.dim():
        kept = kept.reshape(1)
    dense = tuple(kept.shape[1:])
    if size is None:
        limits = rows.max(1) + 1 if rows.shape[1] else [0] * len(rows)
        shape = (*(int(n) for n in limits), *dense)
    else:
        shape = tuple(int(n) for n in size)
    _check(rows, kept, shape)
    if check:
        _check_range(rows, shape)
    return _sparse_coo(kept, wrap(rows), shape, False)


def _check(rows: Any, values: Tensor, shape: tuple[int, ...]) -> None:
    dense = values.dim() - 1
    if len(shape) != len(rows) + dense:
        raise RuntimeError(
            "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = "
            f"{len(shape)}, sparse_dim = {len(rows)}, dense_dim = {dense}"
        )
    if rows.shape[1] != values.shape[0]:
        raise RuntimeError(
            "indices and values must have same nnz, but got nnz from indices: "
            f"{rows.shape[1]}, nnz from values: {values.shape[0]}"
        )


def _check_range(rows: Any, shape: tuple[int, ...]) -> None:
    """Refuse coordinates outside of the size, which PyTorch does where asked to."""
    for dim, row in enumerate(rows):
        if not row.size:
            return
        low, high = int(row.min()), int(row.max())
        if low < 0:
            raise RuntimeError(f"found negative index {low} for dim {dim}")
        if high >= shape[dim]:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {dim}, size is "
                f"{shape[dim]} but found index {high}"
            )


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
    """Return the tensor with all its zeros; a dense one is returned itself."""
    found = _to_dense(self) if is_sparse(self) else self
    return found if dtype is None else found.to(dtype)


# ---- reading them ----


def _sparse_data(self: Tensor, name: str, sentence: str = _COO) -> SparseArray:
    if not is_sparse(self):
        raise RuntimeError(sentence.format(name=name))
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


@op(
    {
        "self": lambda F, grad, indices, self_shape: F._sparse_coo(
            grad, indices, tuple(self_shape), True
        )
    },
    name="values",
    key="_values",
    **HIDDEN,
)
def _values(xp: Any, self: Array, indices: Array) -> Any:
    return self.values.copy()


@method()
def _indices(self: Tensor) -> Tensor:
    return wrap(_sparse_data(self, "_indices").indices)


@method("_values")
def _raw_values(self: Tensor) -> Tensor:
    return wrap(_sparse_data(self, "_values").values)


@method()
def _nnz(self: Tensor) -> int:
    if not is_sparse(self):
        raise refused("_nnz")
    return int(self._data.indices.shape[1])


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


@method()
def sparse_dim(self: Tensor) -> int:
    """Return how many dimensions have coordinates: 0 for a dense tensor."""
    return self._data.sparse_dim if is_sparse(self) else 0


@method()
def dense_dim(self: Tensor) -> int:
    """Return how many dimensions are kept whole."""
    return self.dim() - (self._data.sparse_dim if is_sparse(self) else 0)


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


Tensor.is_sparse = property(is_sparse)
Tensor.layout = property(lambda self: sparse_coo if is_sparse(self) else strided)
Tensor.is_sparse_csr = property(lambda self: False)
