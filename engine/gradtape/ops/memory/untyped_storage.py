"""UntypedStorage: a tensor's memory as bytes, as an object of its own."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..._backend import META, backend_of
from ..._backend._meta import NO_DATA
from ..._backend.device import device as Device
from ..._backend.device import device_of
from ..._dtypes import dtype as DType
from ..._dtypes import uint8
from ..._storage.storage import Storage, new_storage
from .resize_storage import is_fixed, resize_memory

_faces: weakref.WeakValueDictionary[int, UntypedStorage] = weakref.WeakValueDictionary()
_shared: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


class UntypedStorage:
    """The bytes of a tensor's memory, shared by all its views.

    Made of a size, or of a sequence of numbers below 256. Writing to it counts for no
    tensor's version.

    >>> import gradtape as torch
    >>> x = torch.zeros(2)
    >>> x.untyped_storage().nbytes()
    8
    >>> torch.UntypedStorage([1, 2, 3]).tolist()
    [1, 2, 3]
    """

    __module__ = "gradtape.storage"

    __slots__ = ("__dict__", "__weakref__", "_storage")

    _storage: Storage

    def __init__(self, content: Any = 0, *, device: Any = None) -> None:
        if isinstance(content, Storage):
            self._storage = content
            return
        if isinstance(content, int | np.integer):
            array = np.zeros(content, np.uint8)
        else:
            array = np.array([_as_byte(item, content) for item in content], np.uint8)
        self._storage = new_storage(array)
        if device is not None and Device(device).type != "cpu":
            self._storage = self.to(device=device)._storage

    def _bytes(self) -> Any:
        return self._storage.flat().view("uint8")

    def nbytes(self) -> int:
        """Return the number of bytes."""
        return self._storage.nbytes()

    def size(self) -> int:
        """Return the number of bytes."""
        return self._storage.nbytes()

    def __len__(self) -> int:
        return self._storage.nbytes()

    def element_size(self) -> int:
        """Return 1: a byte has no parts."""
        return 1

    def data_ptr(self) -> int:
        """Return the address of the first byte; 0 where there is none."""
        there = self.nbytes() and self.device.type != "meta"
        return backend_of(self._storage.owner).pointer(self._bytes()) if there else 0

    @property
    def _cdata(self) -> int:
        return id(self._storage.owner)

    @property
    def device(self) -> Device:
        """Where the memory is."""
        return device_of(self._storage.owner)

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is on a CUDA device."""
        return self.device.type == "cuda"

    def get_device(self) -> int:
        """Return the index of the CUDA device; -1 in host memory."""
        index = self.device.index
        return -1 if index is None else index

    def __getitem__(self, index: Any) -> Any:
        """Return one byte, or a storage over a range of them."""
        if isinstance(index, slice):
            return UntypedStorage(new_storage(self._bytes()[index]))
        self.check_readable()
        return int(self._bytes()[self._place(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        where = index if isinstance(index, slice) else self._place(index)
        self._bytes()[where] = value

    def check_readable(self) -> None:
        """Raise NotImplementedError for the storage of a tensor without values."""
        if self.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type")

    def _place(self, index: int) -> int:
        count = self.nbytes()
        if not -count <= index < count:
            raise IndexError(f"index {index} out of range for storage of size {count}")
        return index % count

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def __bytes__(self) -> bytes:
        return bytes(backend_of(self._storage.owner).to_host(self._bytes()))

    def tolist(self) -> list[int]:
        """Return the bytes as a list of ints."""
        self.check_readable()
        return list(self.__bytes__())

    def clone(self) -> UntypedStorage:
        """Return a copy of the bytes."""
        return UntypedStorage(new_storage(self._bytes().copy()))

    def __copy__(self) -> UntypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> UntypedStorage:
        """Return one copy for all that share this memory in what is copied."""
        copies: dict[int, UntypedStorage] = memo.setdefault("torch", {})  # type: ignore[call-overload]
        key = id(self._storage.owner)
        if key not in copies:
            copies[key] = UntypedStorage(new_storage(self._storage.flat().copy()))
            memo.setdefault(id(memo), []).append(self)  # its id stays taken
        return copies[key]

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (bytes(self),)

    def copy_(
        self, source: UntypedStorage, non_blocking: bool | None = None
    ) -> UntypedStorage:
        """Take over the bytes of another storage of the same size."""
        if source.nbytes() != self.nbytes():
            raise RuntimeError("size does not match")
        check_source(source, self)
        self._bytes()[...] = source.untyped()._bytes()
        return self

    def fill_(self, value: int) -> UntypedStorage:
        """Set every byte to one value."""
        self._bytes()[...] = value
        return self

    def resize_(self, size: int) -> UntypedStorage:
        """Give the memory another size; every tensor over it sees the new memory.

        Raises RuntimeError where NumPy shares the memory.
        """
        if size < 0:
            raise RuntimeError("Invalid size")
        resize_memory(self._storage, size)
        return self

    def resizable(self) -> bool:
        """Tell whether the size may change; not where NumPy shares the memory."""
        return not is_fixed(self._storage)

    def byteswap(self, dtype: DType) -> None:
        """Reverse the bytes of every number of type ``dtype``."""
        part = dtype.itemsize // (2 if dtype.is_complex else 1)
        self._bytes().view(f"u{part}").byteswap(inplace=True)

    def is_shared(self) -> bool:
        """Tell whether share_memory_() was called, or the memory is a device's."""
        owner = self._storage.owner
        return self.is_cuda or _shared.get(id(owner)) is owner

    def share_memory_(self) -> UntypedStorage:
        """Mark the memory as shared; here it stays with this process."""
        _shared[id(self._storage.owner)] = self._storage.owner
        return self

    def is_pinned(self, device: Any = "cuda") -> bool:
        """Tell whether the memory is locked for copies to a device; never, here."""
        return False

    def cpu(self) -> UntypedStorage:
        """Return the storage in host memory."""
        if self.device.type == "cpu":
            return self
        array = backend_of(self._storage.owner).to_host(self._storage.flat())
        return UntypedStorage(new_storage(array))

    def cuda(self, device: Any = None, non_blocking: bool = False) -> UntypedStorage:
        """Return a copy on a CUDA device, given by its number or name."""
        from ..._backend import cupy_backend

        index = device if isinstance(device, int) else Device(device or "cuda").index
        xp = cupy_backend().xp
        with xp.cuda.Device(index or 0):
            return UntypedStorage(new_storage(xp.asarray(self._storage.flat())))

    def to(self, *, device: Any, non_blocking: bool = False) -> UntypedStorage:
        """Return the storage on a device."""
        where = Device(device)
        if where.type == "meta":
            return UntypedStorage(new_storage(META.without_values(self._bytes())))
        return self.cpu() if where.type == "cpu" else self.cuda(where)

    def untyped(self) -> UntypedStorage:
        """Return the storage itself."""
        return self

    def type(self, dtype: Any = None) -> str:
        """Return the name of the storage's type."""
        return "torch.storage.UntypedStorage"

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    @classmethod
    def from_buffer(
        cls,
        buffer: Any,
        byte_order: str | None = None,
        count: int = -1,
        offset: int = 0,
        *,
        dtype: DType = uint8,
    ) -> UntypedStorage:
        """Return a copy of a buffer's bytes, as a storage of numbers lies in memory.

        Raises RuntimeError where the order of bytes matters and is not given, and
        ValueError where the buffer holds too little, or no whole number.
        """
        order = _byte_order(byte_order, dtype)
        content = _bytes_like(buffer).cast("B")
        item, size = dtype.itemsize, len(content)
        if not 0 <= offset <= size:
            raise ValueError(
                "offset must be non-negative and no greater than buffer length "
                f"({offset}) , but got {size}"
            )
        if count < 0 and (size - offset) % item:
            raise ValueError(
                f"buffer size ({size}) must be a multiple of element size ({item})"
            )
        count = (size - offset) // item if count < 0 else count
        if offset + count * item > size:
            raise ValueError(
                f"buffer has only {size - offset} elements after offset {offset}, but "
                f"specified a size of {count}"
            )
        end = offset + count * item
        storage = cls(new_storage(np.frombuffer(content, np.uint8)[offset:end].copy()))
        if order != sys.byteorder and item > 1:
            storage.byteswap(dtype)
        return storage

    def __repr__(self) -> str:
        title = f"torch.storage.UntypedStorage(device={self.device})"
        return listing(self, title)


def _as_byte(item: Any, content: Sequence[Any]) -> int:
    if not isinstance(item, int):
        raise RuntimeError(
            "torch.UntypedStorage(): tried to construct a storage from a sequence "
            f"({type(content).__name__}), but one of the items was of type "
            f"{type(item).__name__} instead of int"
        )
    return item


def _bytes_like(buffer: Any) -> Any:
    try:
        return memoryview(buffer)
    except TypeError:
        raise TypeError(
            f"a bytes-like object is required, not '{type(buffer).__name__}'"
        ) from None


def _byte_order(given: str | None, dtype: DType) -> str:
    if given is None:
        if dtype.itemsize > 1:
            raise RuntimeError(
                "function missing required argument 'byte_order' (pos 2)"
            )
        return sys.byteorder
    if given not in ("big", "little", "native"):
        raise ValueError(
            f"invalid byte_order '{given}' (expected 'big', 'little', or 'native')"
        )
    return sys.byteorder if given == "native" else given


def _restored(content: bytes) -> UntypedStorage:
    return UntypedStorage.from_buffer(content)


def check_source(source: Any, target: Any) -> None:
    """Refuse to copy out of a storage without values."""
    if source.device.type == "meta" != target.device.type:
        raise NotImplementedError(NO_DATA)


def listing(storage: Any, title: str) -> str:
    """Write a storage as PyTorch does: an element a line, then what it is."""
    hidden = storage.device.type == "meta"
    lines = "..." if hidden else " " + "\n ".join(map(str, storage.tolist()))
    return f"{lines}\n[{title} of size {storage.size()}]"


def face_of(storage: Storage) -> UntypedStorage:
    """Return the one object that shows a memory to the user, while it lives."""
    face = _faces.get(id(storage.owner))
    if face is None or face._storage.owner is not storage.owner:
        face = _faces[id(storage.owner)] = UntypedStorage(storage)
    return face
