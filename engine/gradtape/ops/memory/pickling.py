"""Copying and pickling tensors and storages."""

from __future__ import annotations

import copy
import threading
from collections import OrderedDict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..._backend import backend_of
from ..._common.messages import STRIDED_OUT_OF_BOUNDS
from ..._dispatch.declare import method
from ..._dispatch.strided_views import Geometry, check_geometry, geometry_of
from ..._dtypes import DTYPE_OF, uint16, uint32, uint64
from ..._dtypes import dtype as DType
from ..._modes.grad_mode import mode, no_grad
from ..._overrides.torch_function import DisableTorchFunctionSubclass
from ..._sparse.array import SparseArray
from ..._storage.storage import (
    Storage,
    borrowed,
    inference_storage,
    new_storage,
    sharing,
)
from ..._tensor.hooks import warn_if_has_hooks
from ..._tensor.memory import keeps_values_elsewhere
from ..._tensor.tensor import Tensor, move_to, plain_types, wrap, wrap_shared
from ..creation.factories import empty_strided
from ..sparse.create import check_parts, check_range
from ..sparse.layout import is_sparse
from ..tensor.subclasses import (
    _make_wrapper_subclass,
    own_slots,
    retyped,
    set_state,
    state_of,
)
from .memory_format import layout as Layout
from .memory_format import sparse_coo, strided
from .resize_set import place
from .typed_storage import TypedStorage, typed
from .untyped_storage import UntypedStorage, face_of

__all__ = [
    "_rebuild_device_tensor_from_cpu_tensor",
    "_rebuild_device_tensor_from_numpy",
    "_rebuild_from_type_v2",
    "_rebuild_meta_tensor_no_storage",
    "_rebuild_sparse_tensor",
    "_rebuild_tensor",
    "_rebuild_tensor_v2",
    "_rebuild_tensor_v3",
    "_rebuild_wrapper_subclass",
]

_WITHOUT_STORAGE_CLASS = (uint16, uint32, uint64)
"""Dtypes that have no class of storages of their own."""


# ---- taking apart ----


@method("__reduce_ex__")
def _reduce(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    state = state_of(self)
    function, arguments = _parts(self)
    if type(self) is Tensor and not state:
        return function, arguments
    return _rebuild_from_type_v2, (function, type(self), arguments, state)


def _parts(self: Tensor) -> tuple[Callable[..., Tensor], tuple[Any, ...]]:
    """Return the function that rebuilds a plain tensor, with its arguments."""
    warn_if_has_hooks(self)
    if is_sparse(self):
        data = self._data
        parts = (wrap(data.indices), wrap(data.values), self.shape, data.coalesced)
        return _rebuild_sparse_tensor, (sparse_coo, parts)
    if self.is_meta:
        own = (self.dtype, tuple(self.shape), self.stride(), self.requires_grad)
        return _rebuild_meta_tensor_no_storage, own
    if keeps_values_elsewhere(self):
        place = tuple(self.shape), self.stride(), self.storage_offset()
        kind = strided, self.device, self.requires_grad
        return _rebuild_wrapper_subclass, (type(self), self.dtype, *place, *kind)
    at, memory = geometry_of(self), face_of(self._storage)
    hooks: OrderedDict[int, Any] = OrderedDict()  # none: they are seldom picklable
    # A tuple of its own: one that several tensors share would be written once.
    stride = (*at.stride,)
    end = (tuple(at.size), stride, self.requires_grad, hooks)
    if self.dtype in _WITHOUT_STORAGE_CLASS:
        return _rebuild_tensor_v3, (memory, at.offset, *end, self.dtype)
    return _rebuild_tensor_v2, (typed(memory, self.dtype), at.offset, *end)


# ---- rebuilding ----


def _rebuild_from_type_v2(
    func: Any, new_type: type[Tensor], args: Any, state: Any
) -> Tensor:
    found = func(*args)
    if type(found) is not new_type:
        found = retyped(found, new_type)
    restore = getattr(new_type, "__setstate__", None)
    if restore is not None:
        restore(found, state)
        return found
    return set_state(found, state)


def _rebuild_tensor(
    storage: Any, storage_offset: int, size: Any, stride: Any
) -> Tensor:
    if not isinstance(storage, TypedStorage):
        raise RuntimeError(f"{type(storage).__name__} is no storage of numbers")
    at = _checked(storage_offset, size, stride)
    return _look(storage.untyped()._storage, storage.dtype, at)


def _rebuild_tensor_v2(
    storage: Any,
    storage_offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    backward_hooks: Any,
    metadata: Any = None,
) -> Tensor:
    found = _rebuild_tensor(storage, storage_offset, size, stride)
    return _finished(found, requires_grad, backward_hooks, metadata)


def _rebuild_tensor_v3(
    storage: Any,
    storage_offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    backward_hooks: Any,
    dtype: DType,
    metadata: Any = None,
) -> Tensor:
    if not isinstance(storage, UntypedStorage | TypedStorage):
        raise RuntimeError(f"{type(storage).__name__} is no storage")
    if not isinstance(dtype, DType):
        raise RuntimeError(f"{dtype!r} is no dtype")
    at = _checked(storage_offset, size, stride)
    found = _look(storage.untyped()._storage, dtype, at)
    return _finished(found, requires_grad, backward_hooks, metadata)


def _checked(offset: Any, size: Any, stride: Any) -> Geometry:
    """Return sizes, strides and offset, or refuse those that no tensor has."""
    if not isinstance(size, tuple | list) or not isinstance(stride, tuple | list):
        raise RuntimeError("sizes and strides must be tuples of ints")
    if any(type(n) is not int for n in (offset, *size, *stride)):
        raise RuntimeError("sizes, strides and the storage offset must be ints")
    at = Geometry(tuple(size), tuple(stride), offset)
    check_geometry(at)
    return at


def _look(memory: Storage, dtype: DType, at: Geometry) -> Tensor:
    """Return a tensor that looks into memory; raise RuntimeError if it would leave."""
    item, nbytes = dtype.itemsize, memory.nbytes()
    if at.end * item > nbytes:
        text = STRIDED_OUT_OF_BOUNDS.format(
            size=list(at.size),
            stride=list(at.stride),
            offset=at.offset,
            item=item,
            needed=at.end * item,
            nbytes=nbytes,
        )
        raise RuntimeError(text)
    flat = memory.flat_as(dtype.numpy)
    try:
        array = backend_of(flat).strided(flat, *at)
    except (ValueError, OverflowError) as error:
        sizes = f"{list(at.size)} and strides {list(at.stride)}"
        raise RuntimeError(
            f"no array has the sizes {sizes}: {str(error).rstrip('.')}"
        ) from None
    own = sharing(memory)
    if not own.inference:
        own.version = 1  # PyTorch places what it reads with set_()
    found = wrap_shared(array, own)
    move_to(found, at.offset)
    return found


def _finished(
    found: Tensor, requires_grad: Any, backward_hooks: Any, metadata: Any
) -> Tensor:
    if metadata:
        found = _with_bits(found, metadata)
    found.requires_grad = bool(requires_grad)
    if backward_hooks:
        found._backward_hooks = backward_hooks
    return found


def _with_bits(found: Tensor, metadata: Any) -> Tensor:
    """Apply the conjugate and negative bits, which are never lazy here.

    All of the memory is treated: a tensor may be expanded far beyond it.
    """
    if not isinstance(metadata, dict) or not set(metadata) <= {"conj", "neg"}:
        raise RuntimeError(f"unknown metadata of a tensor: {metadata!r}")
    at = geometry_of(found)
    flat = found._storage.flat_as(found._data.dtype)
    if metadata.get("conj"):
        flat = flat.conjugate()
    if metadata.get("neg"):
        flat = -flat
    return _look(new_storage(flat), DTYPE_OF[flat.dtype], at)


def _rebuild_sparse_tensor(layout: Layout, data: Any) -> Tensor:
    if layout is not sparse_coo:
        raise RuntimeError(f"tensors with the layout {layout!r} are not supported here")
    indices, values, size = data[:3]
    coalesced = bool(data[3]) if len(data) > 3 else False
    if not isinstance(indices, Tensor) or not isinstance(values, Tensor):
        raise RuntimeError("a sparse tensor consists of tensors: indices and values")
    at, shape = indices._data, tuple(size)
    if any(type(n) is not int or n < 0 for n in shape):
        raise RuntimeError(f"{shape} is no size of a tensor")
    if at.ndim != 2 or at.dtype != np.int64 or not values.dim():
        raise RuntimeError("indices must be a matrix of int64 with a column per value")
    check_parts(at, values, shape)
    if shape[len(at) :] != tuple(values.shape[1:]):
        raise RuntimeError(
            f"values of shape {list(values.shape)} do not fill a tensor of "
            f"{list(shape)}"
        )
    if _unchecked.arrays is None:
        check_range(at, shape)
    else:
        _unchecked.arrays.append((at, shape))
    return wrap(SparseArray(at, values._data, shape, coalesced))


class _Unchecked(threading.local):
    arrays: list[tuple[Any, tuple[int, ...]]] | None = None


_unchecked = _Unchecked()


@contextmanager
def coordinates_checked_last() -> Generator[None]:
    """Check coordinates of sparse tensors when the block ends: then they are read."""
    _unchecked.arrays = []
    try:
        yield
        for at, shape in _unchecked.arrays:
            check_range(at, shape)
    finally:
        _unchecked.arrays = None


def _rebuild_meta_tensor_no_storage(
    dtype: Any, size: Any, stride: Any, requires_grad: Any
) -> Tensor:
    if not isinstance(dtype, DType):
        raise RuntimeError(f"{dtype!r} is no dtype")
    at = _checked(0, size, stride)
    found = empty_strided(at.size, at.stride, dtype=dtype, device="meta")
    return found.requires_grad_(bool(requires_grad))


def _rebuild_wrapper_subclass(
    cls: Any,
    dtype: Any,
    size: Any,
    stride: Any,
    offset: Any,
    layout: Any,
    device: Any,
    requires_grad: Any,
) -> Tensor:
    if not isinstance(dtype, DType):
        raise RuntimeError(f"{dtype!r} is no dtype")
    at = _checked(offset, size, stride)
    return _make_wrapper_subclass(
        cls,
        at.size,
        strides=at.stride,
        storage_offset=at.offset,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=bool(requires_grad),
    )


def _rebuild_device_tensor_from_cpu_tensor(
    data: Any, dtype: Any, device: Any, requires_grad: Any
) -> Tensor:
    return data.to(device=device, dtype=dtype).requires_grad_(bool(requires_grad))


def _rebuild_device_tensor_from_numpy(
    data: Any, dtype: Any, device: Any, requires_grad: Any
) -> Tensor:
    from ..creation.from_data import from_numpy

    found = from_numpy(data).to(device=device, dtype=dtype)
    return found.requires_grad_(bool(requires_grad))


_ANOTHER_KIND = (
    "of the same subclass. You should either properly implement {0}() for your "
    "subclass or override __deepcopy__() if it is intended behavior for {0}() to "
    "return an instance of a different type."
)
_OTHER_CLONE = (
    "The default implementation of __deepcopy__() for wrapper subclasses only works "
    "for subclass types that implement clone() and for which cloning returns another "
    "instance " + _ANOTHER_KIND.format("clone")
)
_OTHER_NEW = (
    "The default implementation of __deepcopy__() for non-wrapper subclasses only "
    "works for subclass types that implement new_empty() and for which that function "
    "returns another instance " + _ANOTHER_KIND.format("new_empty")
)


@method("__deepcopy__")
def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the "
            "deepcopy protocol at the moment.  If you were attempting to deepcopy a "
            "module, this may be because of a torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001"
        )
    if id(self) in memo:
        return memo[id(self)]
    if is_sparse(self):
        return _carried_over(self, wrap(self._data.copy()), memo)
    if keeps_values_elsewhere(self) or self.device.type == "meta":
        return _carried_over(self, _cloned(self), memo)
    if type(self) not in plain_types:
        with DisableTorchFunctionSubclass():
            if type(self.new_empty(())) is not type(self):  # type: ignore[attr-defined]
                raise RuntimeError(_OTHER_NEW)
    shared = face_of(self._storage).__deepcopy__(memo)._storage
    if mode.now.inference:
        twin = _like(self, inference_storage(shared.owner))
    else:
        twin = _like(self, borrowed(shared, new_storage(shared.owner)))
        twin._storage.version = 1  # PyTorch places the copy with set_()
    return _carried_over(self, twin, memo)


def _cloned(self: Tensor) -> Tensor:
    """Return what the class of a tensor without memory makes of ``clone()``."""
    with no_grad(), DisableTorchFunctionSubclass():
        twin: Tensor = self.clone()  # type: ignore[attr-defined]
    if type(twin) is not type(self):
        raise RuntimeError(_OTHER_CLONE)
    return twin


def _carried_over(self: Tensor, twin: Tensor, memo: dict[int, Any]) -> Tensor:
    """Give a deep copy what its original has besides memory."""
    memo[id(self)] = twin
    twin._needs = self._needs
    if self._grad is not None:
        twin._grad = copy.deepcopy(self._grad, memo)
    twin.__dict__.update(copy.deepcopy(self.__dict__, memo))
    for name in own_slots(type(self)):
        if hasattr(self, name):
            setattr(twin, name, copy.deepcopy(getattr(self, name), memo))
    return twin


def _like(self: Tensor, memory: Storage) -> Tensor:
    """Return a tensor of this one's type that looks the same way into ``memory``."""
    twin = object.__new__(type(self))
    twin._storage = memory
    twin._grad = twin._grad_fn = twin._view = twin._extra = None
    twin._needs, twin._nr = False, 0
    twin._data = memory.flat_as(self._data.dtype)[:0]
    place(twin, geometry_of(self))
    return twin


for _name in __all__:  # files name them by their public home
    globals()[_name].__module__ = "gradtape._utils"
