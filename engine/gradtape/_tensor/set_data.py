"""Giving a tensor other memory by ``x.data = y``; its history and version stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._common.type_name import type_name
from .._sparse.array import SparseArray
from .._storage.storage import Storage, borrowed
from .extra import ViewInfo
from .memory import TensorMemory

if TYPE_CHECKING:
    from .tensor import Tensor

_NOT_DIFFERENTIABLE = (
    "data set to a tensor that requires gradients must be floating point or complex "
    "dtype"
)
_INCOMPATIBLE = (
    "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
    "incompatible tensor type."
)


def set_data(tensor: Tensor, value: Any) -> None:
    """Let ``tensor`` use the memory of ``value``, with the version counter it has.

    What nodes saved of the tensor follows it. Raises TypeError for what is no tensor,
    RuntimeError for integers where a gradient is wanted, and for sparse beside strided
    or the meta device beside another.
    """
    if not isinstance(value, TensorMemory):
        raise TypeError(f"Variable data has to be a tensor, but got {type_name(value)}")
    data = value._data
    if value.is_meta is not tensor.is_meta or (
        (type(data) is SparseArray) is not (type(tensor._data) is SparseArray)
    ):
        raise RuntimeError(_INCOMPATIBLE)
    if tensor.requires_grad and data.dtype.kind not in "fcV":
        raise RuntimeError(_NOT_DIFFERENTIABLE)
    extra = tensor._extra
    if extra is not None and tensor._data.dtype != data.dtype:
        extra.accumulator = None  # the next one takes in gradients of the new dtype
    use_memory(tensor, value)


def use_memory(tensor: Tensor, source: Any) -> None:
    """Let ``tensor`` look at the memory of ``source`` just as ``source`` does."""
    mine: Storage = tensor._storage
    theirs: Storage = source._storage
    if theirs is not mine:
        tensor._storage = borrowed(theirs, mine)
    tensor._data = source._data
    move_to(tensor, source.storage_offset())


def move_to(tensor: Tensor, offset: int) -> None:
    """Note that a tensor begins ``offset`` elements into its storage."""
    info = tensor._view
    if info is not None:
        info.offset = offset
    elif offset:
        info = tensor._view = ViewInfo()
        info.base, info.offset, info.version = None, offset, 0
        info.kind, info.steps = "", ()
