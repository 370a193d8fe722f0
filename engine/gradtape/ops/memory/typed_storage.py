"""TypedStorage: a tensor's memory as numbers, PyTorch's old kind of storage."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._backend.device import device as Device
from ..._dtypes import (
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from ..._dtypes import dtype as DType
from ..._storage.storage import new_storage
from .untyped_storage import UntypedStorage, check_source, listing

_DEPRECATED = (
    "TypedStorage is deprecated. It will be removed in the future and UntypedStorage "
    "will be the only storage class. This should only matter to you if you are using "
    "storages directly.  To access UntypedStorage directly, use "
    "tensor.untyped_storage() instead of tensor.storage()"
)


_warned = {"before": False, "always": False}
"""Whether it was said that this kind of storage is going away, and shall be again."""


def warn_deprecated(stacklevel: int = 3) -> None:
    """Say once per process that this kind of storage is going away."""
    if _warned["always"] or not _warned["before"]:
        _warned["before"] = True
        warnings.warn(_DEPRECATED, UserWarning, stacklevel=stacklevel)


def warns_always() -> bool:
    """Tell whether the deprecation is told at each use."""
    return _warned["always"]


def warn_always(always_warn: bool) -> None:
    """Say whether the deprecation shall be told at each use, not once."""
    _warned["always"] = always_warn


def _on_device(array: Any, device: Any) -> UntypedStorage:
    found = UntypedStorage(new_storage(array))
    return found if device is None else found.to(device=device)


class TypedStorage:
    """A memory as numbers of one dtype; what ``Tensor.storage()`` returns.

    Made of a size, a sequence of numbers, or a storage of bytes (``wrap_storage``).
    """

    __module__ = "gradtape.storage"

    __slots__ = ("_untyped_storage", "dtype")

    dtype: DType
    _untyped_storage: UntypedStorage

    def __init__(
        self,
        content: Any = 0,
        *,
        wrap_storage: UntypedStorage | None = None,
        dtype: DType | None = None,
        device: Any = None,
        _internal: bool = False,
    ) -> None:
        if not _internal:
            warn_deprecated()
        self.dtype = get_default_dtype() if dtype is None else dtype
        if wrap_storage is not None:
            self._untyped_storage = wrap_storage
        elif isinstance(content, UntypedStorage):
            self._untyped_storage = content
        elif isinstance(content, int | np.integer):
            array = np.zeros(content, self.dtype.numpy)
            self._untyped_storage = _on_device(array, device)
        else:
            array = np.array(list(content), dtype=self.dtype.numpy)
            self._untyped_storage = _on_device(array, device)

    def _numbers(self) -> Any:
        return self._untyped_storage._storage.flat_as(self.dtype.numpy)

    def untyped(self) -> UntypedStorage:
        """Return the same memory as bytes."""
        return self._untyped_storage

    @property
    def device(self) -> Device:
        """Where the memory is."""
        return self._untyped_storage.device

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is on a CUDA device."""
        return self._untyped_storage.is_cuda

    @property
    def _cdata(self) -> int:
        return self._untyped_storage._cdata

    def nbytes(self) -> int:
        """Return the number of bytes."""
        return self._untyped_storage.nbytes()

    def size(self) -> int:
        """Return the number of elements."""
        return self.nbytes() // self.dtype.itemsize

    def __len__(self) -> int:
        return self.size()

    def element_size(self) -> int:
        """Return the bytes per element."""
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        """Return the address of the first byte; 0 where there is none."""
        return self._untyped_storage.data_ptr()

    def get_device(self) -> int:
        """Return the index of the CUDA device; -1 in host memory."""
        return self._untyped_storage.get_device()

    def __getitem__(self, index: Any) -> Any:
        warn_deprecated()
        if isinstance(index, slice):
            raise RuntimeError(
                "slices are only supported in UntypedStorage.__getitem__"
            )
        if not isinstance(index, int):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        self._untyped_storage.check_readable()
        count = self.size()
        if not -count <= index < count:
            raise IndexError(f"index {index} out of range for storage of size {count}")
        return self._numbers()[index].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        warn_deprecated()
        if not isinstance(index, int | slice):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        self._numbers()[index] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> list[Any]:
        """Return the numbers as a list."""
        self._untyped_storage.check_readable()
        return self._numbers().tolist()

    def fill_(self, value: Any) -> TypedStorage:
        """Set every element to one number."""
        self._numbers()[...] = value
        return self

    def copy_(
        self, source: TypedStorage, non_blocking: bool | None = None
    ) -> TypedStorage:
        """Take over the numbers of another storage, cast to this dtype."""
        check_source(source, self)
        self._numbers()[...] = source._numbers()
        return self

    def clone(self) -> TypedStorage:
        """Return a copy."""
        return typed(self._untyped_storage.clone(), self.dtype)

    def __copy__(self) -> TypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> TypedStorage:
        return typed(self._untyped_storage.__deepcopy__(memo), self.dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (bytes(self._untyped_storage), self.dtype)

    def resize_(self, size: int) -> None:
        """Give the memory room for another number of elements."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)

    def resizable(self) -> bool:
        """Tell whether the size may change; not where NumPy shares the memory."""
        return self._untyped_storage.resizable()

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def is_shared(self) -> bool:
        """Tell whether share_memory_() was called."""
        return self._untyped_storage.is_shared()

    def share_memory_(self) -> TypedStorage:
        """Mark the memory as shared; here it stays with this process."""
        self._untyped_storage.share_memory_()
        return self

    def is_pinned(self, device: Any = "cuda") -> bool:
        """Tell whether the memory is locked for copies to a device; never, here."""
        return False

    def cpu(self) -> TypedStorage:
        """Return the storage in host memory."""
        return typed(self._untyped_storage.cpu(), self.dtype)

    def type(self, dtype: Any = None) -> str:
        """Return the old name of the storage's type."""
        return f"torch.{legacy_name(self.dtype)}"

    def cast(self, dtype: DType) -> TypedStorage:
        """Return a copy in another dtype."""
        array = self._numbers().astype(dtype.numpy)
        return typed(UntypedStorage(new_storage(array)), dtype)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TypedStorage)
            and self.data_ptr() == other.data_ptr()
            and self.nbytes() == other.nbytes()
            and self.dtype is other.dtype
        )

    def __hash__(self) -> int:
        return hash(self._untyped_storage)

    @classmethod
    def from_buffer(cls, *given: Any, **options: Any) -> TypedStorage:
        """Return a copy of a buffer's numbers; ``byte_order`` and ``dtype`` say how."""
        options["dtype"] = options.get("dtype") or get_default_dtype()
        return typed(UntypedStorage.from_buffer(*given, **options), options["dtype"])

    def __repr__(self) -> str:
        kind = f"torch.storage.TypedStorage(dtype={self.dtype}, device={self.device})"
        return listing(self, kind)


def _restored(content: bytes, dtype: DType) -> TypedStorage:
    return typed(UntypedStorage.from_buffer(content), dtype)


def typed(storage: UntypedStorage, dtype: DType) -> TypedStorage:
    """Return bytes as numbers."""
    return TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)


def legacy_name(dtype: DType) -> str:
    """Return the name of the class of storages of one dtype: FloatStorage."""
    return f"{dtype.cpp_name}Storage"


def names_by_dtype() -> dict[DType, str]:
    """Return the names of the old storage classes, by dtype."""
    named = (
        *(bfloat16, bool_, complex64, complex128, float16, float32, float64),
        *(int8, int16, int32, int64, uint8),
    )
    return {dtype: legacy_name(dtype) for dtype in named}
