"""New sparse tensors, what is checked of them, and their older constructors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final

import numpy as np

from ..._common.messages import NEW_LEAF_DTYPE
from ..._common.type_name import type_name
from ..._dispatch.declare import public
from ..._dtypes import dtype as DType
from ..._dtypes import int64, parse_dtype
from ..._sparse.array import SparseArray
from ..._tensor.tensor import Tensor, wrap
from ..creation.factories import empty
from ..creation.from_data import as_tensor
from ..memory.memory_format import sparse_coo
from .layout import _sparse_coo

_checking: ContextVar[bool] = ContextVar("checking", default=False)
"""Whether coordinates outside of the size are refused where nothing else is said."""


class check_sparse_tensor_invariants:
    """Refuse coordinates outside of the size, within ``with`` or a decorated function.

    Raises RuntimeError where one instance is entered twice.

    >>> import gradtape as torch
    >>> with torch.sparse.check_sparse_tensor_invariants():
    ...     torch.sparse.check_sparse_tensor_invariants.is_enabled()
    True
    """

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved_state: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Tell whether new sparse tensors are checked."""
        return _checking.get()

    @staticmethod
    def enable() -> None:
        """Check sparse tensors from now on."""
        _checking.set(True)

    @staticmethod
    def disable() -> None:
        """Check sparse tensors no longer."""
        _checking.set(False)

    def __enter__(self) -> None:
        if self.saved_state is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different "
                "context manager instance for context nesting."
            )
        self.saved_state = _checking.get()
        _checking.set(self.state)

    def __exit__(self, *_: object) -> None:
        assert self.saved_state is not None
        _checking.set(self.saved_state)
        self.saved_state = None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with the switch set while it runs."""

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return function(*args, **kwargs)

        return checked


_NOT_COALESCED = (
    "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor"
)
_SIGNATURES = (
    "sparse_coo_tensor() received an invalid combination of arguments - got (), but "
    "expected one of:\n"
    " * (object indices, object values, *, torch.dtype dtype = None, torch.device "
    "device = None, bool pin_memory = False, bool requires_grad = False, bool "
    "check_invariants = None, bool is_coalesced = None)\n"
    " * (object indices, object values, tuple of ints size, *, torch.dtype dtype = "
    "None, torch.device device = None, bool pin_memory = False, bool requires_grad = "
    "False, bool check_invariants = None, bool is_coalesced = None)\n"
    " * (tuple of ints size, *, torch.dtype dtype = None, torch.device device = None, "
    "bool requires_grad = False, bool check_invariants = None)\n"
)


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
    if indices is None and size is None:
        raise TypeError(_SIGNATURES)
    if values is None:
        found = _empty(indices if size is None else size, dtype)
    else:
        checked, once = check_invariants, bool(is_coalesced)
        found = _filled(indices, values, size, dtype, device, checked, once)
    if not requires_grad:
        return found
    if found.dtype.numpy.kind not in "fcV":
        raise RuntimeError(NEW_LEAF_DTYPE)
    return found.detach().requires_grad_()


@public
def _validate_sparse_coo_tensor_args(
    indices: Tensor,
    values: Tensor,
    size: Any,
    is_coalesced: bool | None = None,
    check_pinning: bool | None = None,
) -> None:
    """Raise RuntimeError where these make no sparse tensor."""
    _filled(indices, values, size, None, None, True, bool(is_coalesced))


def _empty(size: Any, dtype: Any) -> Tensor:
    return empty(tuple(int(n) for n in size), dtype=dtype, layout=sparse_coo)


def _filled(
    indices: Any,
    values: Any,
    size: Any,
    dtype: Any,
    device: Any,
    check: bool | None,
    coalesced: bool,
) -> Tensor:
    places = as_tensor(indices, device=device).long()
    kind = None if dtype is None else parse_dtype(dtype, "sparse_coo_tensor")
    kept = as_tensor(values, device=device)
    kept = kept if kind is None else kept.to(kind)
    rows = places._data
    if rows.ndim == 1:
        rows = rows.reshape(len(rows), -1)
    if rows.ndim != 2:
        raise RuntimeError(
            f"indices must be sparse_dim x nnz, but got: {list(rows.shape)}"
        )
    if not kept.dim():
        kept = kept.reshape(1)
    dense = tuple(kept.shape[1:])
    if size is None:
        for dim, row in enumerate(rows):
            _check_not_negative(dim, row)
        limits = rows.max(1) + 1 if rows.shape[1] else [0] * len(rows)
        shape = (*(int(n) for n in limits), *dense)
    else:
        shape = tuple(int(n) for n in size)
    check_parts(rows, kept, shape)
    if any(n < 0 for n in shape):
        raise RuntimeError("numel: integer multiplication overflow")
    if check_sparse_tensor_invariants.is_enabled() if check is None else check:
        check_range(rows, shape)
        found = SparseArray(rows, kept._data, shape)
        if coalesced and (np.diff(found.row_major_places()) <= 0).any():
            raise RuntimeError(_NOT_COALESCED)
    return _sparse_coo(kept, wrap(rows), shape, coalesced)


def check_parts(rows: Any, values: Tensor, shape: tuple[int, ...]) -> None:
    """Refuse coordinates and values that do not go together, or not with the size."""
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
    expected = [rows.shape[1], *shape[len(rows) :]]
    if list(values.shape) != expected:
        raise RuntimeError(
            f"values has incorrect size, expected {expected}, got {list(values.shape)}"
        )


def _check_not_negative(dim: int, row: Any) -> None:
    if row.size and row.min() < 0:
        raise RuntimeError(f"found negative index {int(row.min())} for dim {dim}")


def check_range(rows: Any, shape: tuple[int, ...]) -> None:
    """Refuse coordinates outside of the size, which PyTorch does where asked to."""
    for dim, row in enumerate(rows):
        if not row.size:
            return
        _check_not_negative(dim, row)
        high = int(row.max())
        if high >= shape[dim]:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {dim}, size is "
                f"{shape[dim]} but found index {high}"
            )


def spdiags(
    diagonals: Tensor, offsets: Tensor, shape: tuple[int, int], layout: Any = None
) -> Tensor:
    """Return a sparse matrix whose diagonals are the rows of ``diagonals``.

    The element in column ``j`` of a row with offset ``k`` goes to column ``j``, row
    ``j - k``; those outside the matrix are left out. Gradients flow back.

    >>> import gradtape as torch
    >>> rows = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> torch.sparse.spdiags(rows, torch.tensor([0, 1]), (2, 2)).to_dense()
    tensor([[1., 4.],
            [0., 2.]])
    """
    rows = diagonals.unsqueeze(0) if diagonals.dim() == 1 else diagonals
    steps = offsets.unsqueeze(0) if not offsets.dim() else offsets
    _check_diagonals(rows, steps, shape, layout)
    height, width = shape
    columns, chosen, places = [], [], []
    for row, step in enumerate(steps.tolist()):
        for column in range(max(0, step), min(rows.shape[1], width, height + step)):
            chosen.append(row)
            columns.append(column)
            places.append(column - step)
    values = rows[as_tensor(chosen, int64), as_tensor(columns, int64)]
    return _sparse_coo(values, as_tensor([places, columns], int64), shape, False)


def _check_diagonals(rows: Tensor, steps: Tensor, shape: Any, layout: Any) -> None:
    """Refuse what makes no matrix, in PyTorch's words and order."""
    wrong = {
        "Diagonals must be vector or matrix": rows.dim() != 2,
        "Output shape must be 2d": len(shape) != 2,
        "Offsets must be scalar or vector": steps.dim() != 1,
    }
    for sentence, holds in wrong.items():
        if holds:
            raise RuntimeError(sentence)
    count = steps.shape[0]
    if rows.shape[0] != count:
        raise RuntimeError(
            f"Number of diagonals ({rows.shape[0]}) does not match the number of "
            f"offsets ({count})"
        )
    if steps.dtype is not int64:
        raise RuntimeError(
            f"Offset Tensor must have dtype Long but got {steps.dtype.cpp_name}"
        )
    if len(set(steps.tolist())) != count:
        raise RuntimeError("Offset tensor contains duplicate values")
    if layout not in (None, sparse_coo):
        raise RuntimeError(
            "Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got "
            "Strided"
        )


_PARTS: Final = ("indices", "values", "size")
_SEQUENCE: Final = (
    "{name}(sequence) only accepts sizes.  Please use torch.sparse_coo_tensor() or "
    "construct a strided tensor and convert it to sparse via to_sparse."
)
_FORMS: Final = """\
new() received an invalid combination of arguments - got ({}), but expected one of:
 * (*, torch.device device = None)
 * (Tensor indices, Tensor values, *, torch.device device = None)
 * (Tensor indices, Tensor values, tuple of ints size, *, torch.device device = None)
 * (tuple of ints size, *, torch.device device = None)
"""


def sparse_new(
    name: str, given: tuple[Any, ...], named: dict[str, Any], kind: DType
) -> tuple[Tensor, str]:
    """Make a sparse tensor of coordinates and values, or one of a size, all zero.

    Returns what PyTorch calls the arguments, too. Raises TypeError for other ones.
    """
    given = (*given, *(named.pop(part) for part in _PARTS if part in named), *named)
    if len(given) in (2, 3) and all(isinstance(part, Tensor) for part in given[:2]):
        found = given[0].dtype.cpp_name
        if found != "Long":
            raise RuntimeError(f"expected scalar type Long but found {found}")
        called = ", ".join(["indices", "values", "shape"][: len(given)])
        return sparse_coo_tensor(*given), called
    if len(given) == 1 and isinstance(given[0], list | tuple):
        if type(given[0]) in (list, tuple):
            raise TypeError(_SEQUENCE.format(name=name))
        given = tuple(given[0])
    if any(type(size) is not int for size in given):
        raise TypeError(_FORMS.format(", ".join(map(type_name, given))))
    found = empty(given or (0,), dtype=kind, layout=sparse_coo)
    return found, "shape" if given else ""
