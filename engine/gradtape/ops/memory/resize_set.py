"""A tensor's memory: another size, other memory, elements that share a cell."""

from __future__ import annotations

import math
from typing import Any

from ..._backend import backend_of
from ..._dispatch.declare import OPS, Array, method, public
from ..._dispatch.inplace import note_write
from ..._dispatch.recording import make_node
from ..._dispatch.strided_views import Geometry, geometry_of
from ..._dispatch.view_history import check_inplace, rebase_history
from ..._dtypes import CPP_TYPE
from ..._modes.grad_mode import mode
from ..._storage.storage import InferenceStorage, Storage, borrowed, inference_storage
from ..._tensor.overlap import internal_overlap
from ..._tensor.tensor import Tensor, move_to, wrap
from .._support.arguments import spread
from .._support.memory_formats import checked_format, format_strides, suggested
from .._support.operands import hidden_op
from .._support.view_geometry import contiguous_strides
from ..tensor.determinism import unwritten
from .memory_format import contiguous_format, preserve_format
from .resize_storage import resize_memory
from .typed_storage import TypedStorage
from .untyped_storage import UntypedStorage

Sizes = tuple[int, ...]


def place(self: Tensor, at: Geometry) -> None:
    """Let a tensor look elsewhere into its storage, which grows where needed."""
    own, kind = self._storage, self._data.dtype
    needed = at.end * kind.itemsize
    if needed > own.nbytes():
        resize_memory(own, needed, self)
    flat = own.flat_as(kind)
    self._data = backend_of(flat).strided(flat, *at)
    move_to(self, at.offset)


@method()
def resize_(
    self: Tensor, *size: Any, memory_format: Any = None, **named: Any
) -> Tensor:
    """Give the tensor another size; the elements in memory stay, new ones are zero.

    Raises RuntimeError for a tensor that requires grad, and where NumPy shares memory
    that would have to grow.
    """
    wanted = spread(size, "resize_", "size", named)
    if self.requires_grad and not mode.now.inference:
        raise RuntimeError("cannot resize variables that require grad")
    if mode.now.duals is not None and mode.now.duals.any_dual([self]):
        raise RuntimeError("cannot resize variables that has a forward grad")
    order = checked_format(memory_format, "resize_")
    if order is preserve_format:
        raise RuntimeError("Unsupported memory formatPreserve")
    had = self._storage.nbytes() // self._data.itemsize
    if _resize(self, wanted, order):
        note_write(self, "resize_")
    unwritten(self._storage.flat_as(self._data.dtype)[had:])
    return self


@method()
def _resize_output_(self: Tensor, wanted: Sizes, steps: Any = None) -> Tensor:
    """Give what is to be written over another size, whether it requires grad or not.

    The version is left as it is: the write that follows counts.
    """
    _resize(self, wanted, None, steps)
    return self


def _resize(self: Tensor, wanted: Sizes, order: Any, steps: Any = None) -> bool:
    """Give a tensor another size and strides; tell whether anything changed."""
    _check_room(wanted, self._data.itemsize)
    if wanted == self._data.shape and order is None:
        return False
    if steps is None:
        steps = format_strides(wanted, order or contiguous_format)
    place(self, Geometry(wanted, steps, self.storage_offset()))
    return True


def _check_room(size: Sizes, itemsize: int) -> None:
    """Refuse sizes that no memory can hold, in PyTorch's words."""
    limit = 2**63
    if any(n < 0 for n in size) or math.prod(size) >= limit:
        raise RuntimeError("numel: integer multiplication overflow")
    if math.prod(max(n, 1) for n in size[1:]) >= limit:
        raise RuntimeError("Stride calculation overflowed")
    if math.prod(size) * itemsize >= limit:
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(size)}"
        )


@method()
def resize_as_(self: Tensor, other: Tensor, *, memory_format: Any = None) -> Tensor:
    """Give the tensor the size of another, and with ``preserve_format`` its order."""
    if self.is_sparse and other.is_sparse:
        parts = other.sparse_dim(), other.dense_dim()
        return self.sparse_resize_(other.shape, *parts)
    if memory_format is preserve_format:
        memory_format = suggested(other._data.shape, other.stride())
    return resize_(self, other._data.shape, memory_format=memory_format)


# ---- other memory ----


def _lost(F: Any, grad: Any) -> Any:
    raise RuntimeError("derivative for set_ is not implemented")


@hidden_op({"self": _lost, "source": _lost}, node="NotImplemented")
def _set(xp: Any, self: Array, source: Array) -> Any:
    """Stand for a tensor that took the memory of another; no gradient passes."""
    return source


@hidden_op({"self": _lost}, node="NotImplemented")
def _set_storage(xp: Any, self: Array) -> Any:
    """Stand for a tensor that took other memory; no gradient passes."""
    return self


@method()
def set_(
    self: Tensor,
    source: Any = None,
    storage_offset: int = 0,
    size: Any = None,
    stride: Any = None,
) -> Tensor:
    """Let this tensor use the memory of another tensor or of a storage.

    What looked at the old memory goes on doing so, and shares the version counter with
    this tensor as before. Raises RuntimeError for a tensor of another dtype, and where
    a view into the memory would reach past its end.
    """
    memory, at = _wanted(self, source, storage_offset, size, stride)
    given = (self, source) if isinstance(source, Tensor) else (self,)
    needs = mode.grad and any(tensor.requires_grad for tensor in given)
    check_inplace(self, needs)
    own = self._storage
    node = None
    if needs and isinstance(source, Tensor):
        node = make_node(OPS["_set"], (self, source), (), (self,))
    elif needs:
        node = make_node(OPS["_set_storage"], (self,), (), (self,))
    if type(own) is InferenceStorage:
        self._storage = inference_storage(memory.owner)
    elif memory is not own:
        self._storage = borrowed(memory, own)
        self._storage.inference = own.inference
    place(self, at)
    if self._extra is not None and not mode.now.inference:
        self._extra.accumulator = None  # the next one takes in the new shape
    note_write(self, "set_")
    if node is not None:
        rebase_history(self, node)
    return self


def _wanted(
    self: Tensor, source: Any, offset: int, size: Any, stride: Any
) -> tuple[Storage, Geometry]:
    """Return the memory that set_() was asked for, and where to look into it."""
    if source is None:
        source = wrap(backend_of(self._data).xp.empty(0, self._data.dtype))
    if isinstance(source, Tensor):
        if source._data.dtype != self._data.dtype:
            theirs, mine = (CPP_TYPE[t.dtype] for t in (source, self))
            raise RuntimeError(
                f"Could not set tensor of type {theirs} to a tensor of type {mine}"
            )
        if size is None:
            return source._storage, geometry_of(source)
        memory = source._storage
    elif isinstance(source, UntypedStorage | TypedStorage):
        if isinstance(source, TypedStorage) and source.dtype is not self.dtype:
            mine = CPP_TYPE[self.dtype]
            raise RuntimeError(
                f"Expected a Storage of type {mine} or an UntypedStorage, but got type "
                f"{source.dtype.cpp_name} for argument 1 'storage'"
            )
        memory = source.untyped()._storage
    else:
        raise TypeError(
            "set_() received an invalid combination of arguments - got "
            f"({type(source).__name__}), but expected one of: (), (torch.Storage "
            "source), (Tensor source), each with storage_offset, size and stride"
        )
    if size is None:
        size = (memory.nbytes() // self._data.itemsize,)
    wanted = (size,) if isinstance(size, int) else tuple(size)
    steps = contiguous_strides(wanted) if stride is None else tuple(stride)
    return memory, Geometry(wanted, steps, offset)


@public
def _debug_has_internal_overlap(input: Tensor) -> int:
    """Say what strides tell of elements that share a cell: 0 none, 1 some, 2 unknown.

    >>> import gradtape as torch
    >>> torch._debug_has_internal_overlap(torch.zeros(1).expand(3))
    1
    """
    return internal_overlap(input._data)
