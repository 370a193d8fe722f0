"""Copies of whole tensors: deepcopy, copy, pickle, save and load, DLPack."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np

from .._backend import backend_of
from .._define import method, public
from .._dtypes import dtype as DType
from .._mode import mode
from .._storage import Storage, borrowed, inference_storage, new_storage
from .._strided import Geometry, geometry_of
from .._tensor import Tensor, wrap
from .._untyped_storage import face_of
from .memory import place

Sizes = tuple[int, ...]


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
    shared = face_of(self._storage).__deepcopy__(memo)._storage
    if mode.now.inference:
        twin = _like(self, inference_storage(shared.owner))
    else:
        twin = _like(self, borrowed(shared, new_storage(shared.owner)))
        twin._storage.version = 1  # PyTorch places the copy with set_()
    memo[id(self)] = twin
    twin._needs = self._needs
    if self._grad is not None:
        twin._grad = copy.deepcopy(self._grad, memo)
    twin.__dict__.update(copy.deepcopy(self.__dict__, memo))
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


@method("__copy__")
def _shallow_copy(self: Tensor) -> Tensor:
    memory = self._storage
    if memory.inference and not mode.now.inference:
        memory = new_storage(memory.owner)
    twin = _like(self, memory)
    twin._needs = self.requires_grad
    twin.__dict__.update(self.__dict__)
    return twin


@method("__reduce_ex__")
def _reduce(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    from ..utils.hooks import warn_if_has_hooks

    warn_if_has_hooks(self)
    memory = backend_of(self._data).to_host(self._storage.flat()).tobytes()
    place = geometry_of(self)
    state = (self.dtype, tuple(place), memory, self.requires_grad, self.__dict__)
    return _restored, (type(self), *state)


def _restored(
    kind: type[Tensor],
    dtype: DType,
    at: tuple[Any, ...],
    memory: bytes,
    requires_grad: bool,
    attributes: dict[str, Any],
) -> Tensor:
    twin = object.__new__(kind)
    twin._storage = new_storage(np.frombuffer(bytearray(memory), np.uint8))
    twin._storage.version = 1  # PyTorch places what it reads with set_()
    twin._grad = twin._grad_fn = twin._view = twin._extra = None
    twin._needs, twin._nr = requires_grad, 0
    twin._data = twin._storage.flat_as(dtype.numpy)
    twin._storage.owner = twin._data
    place(twin, Geometry(*at))
    twin.__dict__.update(attributes)
    return twin


@method("__dlpack__")
def _dlpack(self: Tensor, **options: Any) -> Any:
    if self.requires_grad:
        raise BufferError(
            "Can't export tensors that require gradient, use tensor.detach()"
        )
    return self._data.__dlpack__(**options)


@method("__dlpack_device__")
def _dlpack_device(self: Tensor) -> Any:
    return self._data.__dlpack_device__()


@public
def from_dlpack(ext_tensor: Any) -> Tensor:
    """Return a tensor that shares the memory of another library's array.

    Raises BufferError where the array's memory cannot be shared.
    """
    return wrap(np.from_dlpack(ext_tensor))


@public
def save(obj: Any, f: Any) -> None:
    """Write an object with its tensors to a file, given by path or open for bytes."""
    if hasattr(f, "write"):
        pickle.dump(obj, f)
        return
    with Path(f).open("wb") as file:
        pickle.dump(obj, file)


@public
def load(f: Any, map_location: Any = None, *, weights_only: bool = False) -> Any:
    """Read what :func:`save` wrote. As every pickle, the file may run any code.

    >>> import io, gradtape as torch
    >>> file = io.BytesIO()
    >>> torch.save(torch.ones(2), file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    tensor([1., 1.])
    """
    if hasattr(f, "read"):
        return pickle.load(f)
    with Path(f).open("rb") as file:
        return pickle.load(file)
