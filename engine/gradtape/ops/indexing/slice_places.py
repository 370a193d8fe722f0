"""Which slices an index names, or PyTorch's refusal: of index_add and its kin."""

from __future__ import annotations

from typing import Any

from ..._dtypes import DTYPE_OF
from ..._tensor.tensor import Tensor
from .._support.arguments import wrap_dim

Sizes = tuple[int, ...]


def checks_dim(_name: str, self: Tensor, _index: Any, _source: Any, dim: int) -> None:
    """Refuse a dimension that is not there, before what else there may be wrong."""
    wrap_dim(dim, self.dim())


def check_added(
    name: str, self: Tensor, index: Tensor, source: Tensor, dim: int, *_: Any
) -> None:
    """Refuse what ``index_add`` cannot add, before memory is looked at."""
    d = wrap_dim(dim, self.dim())
    places_to_add(name, self._data, d, index._data, source._data)


def places_to_add(name: str, self: Any, d: int, index: Any, source: Any) -> Any:
    """Return the index of ``index_add`` or ``index_reduce`` as a vector.

    Raises IndexError or RuntimeError, in PyTorch's words and order, for an index or a
    source that does not fit. Where the index points is not looked at.
    """
    if index.ndim > 1:
        raise IndexError(
            f"{name}_(): Index is supposed to be a vector, but got dim: {index.ndim} "
            f"with type: {_kind(index)} and size: {list(index.shape)}"
        )
    if index.dtype.name not in ("int64", "int32"):
        raise RuntimeError(
            f"{name}_(): Expected dtype int32/int64 for index but got: {_kind(index)}"
        )
    if self.dtype != source.dtype:
        raise RuntimeError(
            f"{name}_(): self ({_kind(self)}) and source ({_kind(source)}) must have "
            "the same scalar type"
        )
    if d and source.ndim <= d:
        raise RuntimeError(
            f"{name}_(): Indexing dim {d} is out of bounds of the source tensor with "
            f"dim {source.ndim}"
        )
    if not source.ndim and index.size != 1:
        raise IndexError(f"Dimension specified as {d} but tensor has no dimensions")
    if source.ndim > d and source.shape[d] != index.size:
        raise RuntimeError(
            f"{name}_(): Number of indices ({index.size}) should be equal to "
            f"source.size(dim): ({source.shape[d]}), for dim: {d}"
        )
    if self.ndim != source.ndim or _rest(self, d) != _rest(source, d):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified "
            f"dimension. Got self.shape = {list(self.shape)} source.shape = "
            f"{list(source.shape)}"
        )
    return index.reshape(-1)


def places_to_copy(self: Any, d: int, index: Any, source: Any) -> Any:
    """Return the index of ``index_copy`` as a vector; refuse what does not fit."""
    _check_counts(self, index, source)
    if index.dtype.name != "int64":
        raise RuntimeError(
            f"index_copy_(): Expected a long tensor for index, but got {_kind(index)}"
        )
    if self.dtype != source.dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got "
            f"(self) {_kind(self)} and (source) {_kind(source)}"
        )
    if _rest(self, d) != _rest(source, d):
        mine, theirs = (" ".join(map(str, _rest(a, d))) for a in (self, source))
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. "
            f"Destination slice shape: {mine} at dimension {d} and source slice shape: "
            f"{theirs} at dimension 0."
        )
    if source.ndim and source.shape[d] != index.size:
        raise IndexError(
            f"index_copy_(): Number of indices ({index.size}) should be equal to "
            f"source.size(dim) ({source.shape[d]})"
        )
    places, length = index.reshape(-1), length_of(self, d)
    wrong = places[(places < 0) | (places >= length)]
    if self.size and wrong.size:
        raise IndexError(
            f"index_copy_(): index {int(wrong[0])} is out of bounds for dimension {d} "
            f"with size {length}"
        )
    return places


def _check_counts(self: Any, index: Any, source: Any) -> None:
    """Refuse numbers of dimensions, and of indices for a number, that do not fit."""
    if index.ndim > 1:
        raise IndexError(
            f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})"
        )
    if not source.ndim and index.size != 1:
        raise IndexError(
            "index_copy_(): When source is scalar, index should have one element (got "
            f"{index.size})"
        )
    if self.ndim and source.ndim and self.ndim != source.ndim:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their "
            f"dimensionality must match. Source dimensionality ({source.ndim}), "
            f"destination dimensionality ({self.ndim})"
        )


def places_to_fill(self: Any, d: int, index: Any) -> Any:
    """Return the index of ``index_fill``, where negative numbers count from the end."""
    if index.dtype.name != "int64":
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    places, length = index.reshape(-1), length_of(self, d)
    wrong = places[(places < -length) | (places >= length)]
    if self.size and wrong.size:
        raise IndexError(
            f"index {int(wrong[0])} is out of bounds for dimension {d} with size "
            f"{length}"
        )
    return places


def length_of(self: Any, d: int) -> int:
    """Return the size of a dimension; a tensor without any counts as one of one."""
    return self.shape[d] if self.ndim else 1


def _rest(array: Any, d: int) -> Sizes:
    return (*array.shape[:d], *array.shape[d + 1 :])


def _kind(array: Any) -> str:
    return DTYPE_OF[array.dtype].cpp_name
