"""A tensor's memory: resize_, set_, storage objects, copies of tensors, pickles."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .._backend import backend_of
from .._define import method, public
from .._dtypes import dtype as DType
from .._inplace import note_write
from .._storage import Storage
from .._strided import Geometry, geometry_of
from .._tensor import Tensor, view_info, wrap
from ._arguments import spread
from ._geometry import contiguous_strides

Sizes = tuple[int, ...]


class UntypedStorage:
    """The bytes of a tensor's memory, shared by all its views.

    >>> import gradtape as torch
    >>> torch.zeros(2).untyped_storage().nbytes()
    8
    """

    __slots__ = ("_storage",)

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def nbytes(self) -> int:
        """Return the number of bytes."""
        return self._storage.nbytes()

    size = __len__ = nbytes

    def data_ptr(self) -> int:
        """Return the address of the first byte."""
        return self._storage.pointer if self.nbytes() else 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and other._storage is self._storage

    def __hash__(self) -> int:
        return hash(self._storage)

    @property
    def _cdata(self) -> int:
        return id(self._storage)

    def _bytes(self) -> Any:
        return self._storage.flat().view("uint8")

    def __getitem__(self, index: int) -> int:
        return int(self._bytes()[index])

    def tolist(self) -> list[int]:
        """Return the bytes as a list of ints."""
        return self._bytes().tolist()

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())


class TypedStorage(UntypedStorage):
    """A tensor's memory as numbers of its dtype; what ``Tensor.storage()`` returns."""

    __slots__ = ("dtype",)

    def __init__(self, storage: Storage, dtype: DType) -> None:
        super().__init__(storage)
        self.dtype = dtype

    def size(self) -> int:
        """Return the number of elements."""
        return self.nbytes() // self.dtype.itemsize

    __len__ = size

    def _bytes(self) -> Any:
        return self._storage.flat().view(self.dtype.numpy)

    def __getitem__(self, index: int) -> Any:
        return self._bytes()[index].item()


@method()
def untyped_storage(self: Tensor) -> UntypedStorage:
    """Return the memory that this tensor and its views share, as bytes."""
    return UntypedStorage(self._storage)


@method("storage", "_typed_storage")
def storage(self: Tensor) -> TypedStorage:
    """Return the memory that this tensor and its views share, as numbers."""
    return TypedStorage(self._storage, self.dtype)


# ---- another size, other memory ----


def _place(self: Tensor, at: Geometry) -> None:
    """Let a tensor look elsewhere into its storage, which grows where needed."""
    own = self._storage
    flat = own.flat()
    kind = self._data.dtype
    if flat.dtype != kind:
        flat = flat.view(kind)
    if at.end > flat.size:
        larger = backend_of(flat).xp.zeros(at.end, kind)
        larger[: flat.size] = flat
        own.owner, own._pointer = larger, None
        flat = larger
    self._data = backend_of(flat).strided(flat, *at)
    if self._view is not None:
        self._view.offset = at.offset
    elif at.offset:
        self._view = view_info(None, at.offset, "", 0)


@method()
def resize_(
    self: Tensor, *size: Any, memory_format: Any = None, **named: Any
) -> Tensor:
    """Give the tensor another size; the elements in memory stay, new ones are zero.

    Raises RuntimeError for a tensor that requires grad.
    """
    wanted = spread(size, "resize_", "size", named)
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    note_write(self, "resize_")
    if wanted != self._data.shape:
        _place(
            self, Geometry(wanted, contiguous_strides(wanted), self.storage_offset())
        )
    return self


@method()
def resize_as_(self: Tensor, other: Tensor) -> Tensor:
    """Give the tensor the size of another."""
    return resize_(self, other._data.shape)


@method()
def set_(
    self: Tensor,
    source: Any = None,
    storage_offset: int = 0,
    size: Any = None,
    stride: Any = None,
) -> Tensor:
    """Let this tensor use the memory of another tensor or of a storage."""
    if self.requires_grad and self.is_leaf:
        note_write(self, "set_")
    version = self._storage.version
    if source is None:
        source = wrap(backend_of(self._data).xp.empty(0, self._data.dtype))
    if isinstance(source, Tensor):
        at = geometry_of(source) if size is None else None
        self._storage = source._storage
    else:
        at = None
        self._storage = source._storage
    if at is None:
        count = self._storage.nbytes() // self._data.itemsize
        wanted = (count,) if size is None else tuple(size)
        steps = contiguous_strides(wanted) if stride is None else tuple(stride)
        at = Geometry(wanted, steps, storage_offset)
    self._view = None
    _place(self, at)
    self._storage.version = max(version, self._storage.version) + 1
    return self


# ---- copies of whole tensors ----


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
    shared = memo.get(id(self._storage))
    if shared is None:
        shared = wrap(self._storage.flat().copy())
        memo[id(self._storage)] = shared
    twin = _like(self, shared)
    memo[id(self)] = twin
    twin._needs = self._needs
    if self._grad is not None:
        twin._grad = copy.deepcopy(self._grad, memo)
    twin.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return twin


def _like(self: Tensor, memory: Tensor) -> Tensor:
    """Return a tensor of this one's type that looks the same way into ``memory``."""
    twin = object.__new__(type(self))
    twin._storage = memory._storage
    twin._grad = twin._grad_fn = twin._view = twin._extra = None
    twin._needs, twin._nr = False, 0
    twin._data = memory._data.view(self._data.dtype)[:0]
    _place(twin, geometry_of(self))
    return twin


@method("__copy__")
def _shallow_copy(self: Tensor) -> Tensor:
    twin = _like(self, self)
    twin._needs = self.requires_grad
    twin.__dict__.update(self.__dict__)
    return twin


@method("__reduce_ex__")
def _reduce(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    if not self.is_leaf:
        raise RuntimeError(
            "Pickling a tensor that requires grad and is not a leaf is not supported; "
            "detach() it first."
        )
    host = backend_of(self._data).to_host(self._data)
    values = host.tobytes()
    state = (self.dtype, host.shape, self.stride(), values, self._needs, self.__dict__)
    return _restored, (type(self), *state)


def _restored(
    kind: type[Tensor],
    dtype: DType,
    shape: Sizes,
    stride: Sizes,
    values: bytes,
    requires_grad: bool,
    attributes: dict[str, Any],
) -> Tensor:
    array = np.frombuffer(values, dtype.numpy).reshape(shape)
    flat = np.zeros(Geometry(shape, stride, 0).end, dtype.numpy)
    memory = wrap(flat)
    twin = object.__new__(kind)
    twin._storage = memory._storage
    twin._grad = twin._grad_fn = twin._view = twin._extra = None
    twin._needs, twin._nr = False, 0
    twin._data = flat
    _place(twin, Geometry(shape, stride, 0))
    twin._data[...] = array
    twin._needs = requires_grad
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
