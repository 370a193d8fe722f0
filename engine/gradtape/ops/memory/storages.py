"""Storages and tensors: ``untyped_storage()``, FloatStorage and the rest."""

from __future__ import annotations

from typing import Any

from ..._dispatch.declare import FUNCTIONS, method, public
from ..._dtypes import (
    DTYPE_OF,
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from ..._dtypes import dtype as DType
from ..._tensor.tensor import Tensor
from ..creation.buffers import numbers_from_file
from .typed_storage import TypedStorage, legacy_name, typed, warn_deprecated
from .untyped_storage import UntypedStorage, face_of

# ---- casts, and classes that are named after a dtype ----

_CASTS = {
    "bfloat16": bfloat16,
    "bool": bool_,
    "byte": uint8,
    "char": int8,
    "complex_double": complex128,
    "complex_float": complex64,
    "double": float64,
    "float": float32,
    "half": float16,
    "int": int32,
    "long": int64,
    "short": int16,
}


def _cast_to(name: str, dtype: DType) -> None:
    def convert(self: Any) -> TypedStorage:
        numbers = self if isinstance(self, TypedStorage) else typed(self, uint8)
        return numbers.cast(dtype)

    convert.__name__ = name
    convert.__doc__ = f"Return a copy as {dtype}."
    setattr(TypedStorage, name, convert)
    setattr(UntypedStorage, name, convert)


class LegacyStorage(type):
    """The type of FloatStorage and the rest: a name for storages of one dtype."""

    dtype: DType

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype

    def __call__(
        cls,
        *content: Any,
        wrap_storage: Any = None,
        device: Any = None,
        _internal: bool = False,
    ) -> TypedStorage:
        if not _internal:
            warn_deprecated()
        return TypedStorage(
            *content, wrap_storage=wrap_storage, dtype=cls.dtype, _internal=True
        )

    def from_buffer(cls, *given: Any, **options: Any) -> TypedStorage:
        """Return a copy of a buffer's numbers."""
        return TypedStorage.from_buffer(*given, **{**options, "dtype": cls.dtype})

    def from_file(cls, filename: str, shared: bool, size: int) -> TypedStorage:
        """Return the first numbers of a file; writes reach it where ``shared``."""
        return numbers_from_file(filename, shared, size, cls.dtype)

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


_BY_DTYPE: dict[DType, type] = {}

for _name, _dtype in _CASTS.items():
    _cast_to(_name, _dtype)
    _full = legacy_name(_dtype)
    _BY_DTYPE[_dtype] = LegacyStorage(
        _full, (), {"dtype": _dtype, "__module__": "gradtape"}
    )
    FUNCTIONS[_full] = _BY_DTYPE[_dtype]


FUNCTIONS["Storage"] = _BY_DTYPE[float32]


def storage_class(dtype: DType) -> Any:
    """Return the class of storages of one dtype: FloatStorage, LongStorage…"""
    return _BY_DTYPE[dtype]


def storage_classes() -> tuple[Any, ...]:
    """Return the classes of storages that are named after a dtype."""
    return tuple(_BY_DTYPE.values())


# ---- what tensors know of their storage ----


@method()
def untyped_storage(self: Tensor) -> UntypedStorage:
    """Return the memory that this tensor and its views share, as bytes."""
    return face_of(self._storage)


@method()
def storage(self: Tensor) -> TypedStorage:
    """Return the memory that this tensor and its views share, as numbers."""
    warn_deprecated()
    return typed(face_of(self._storage), self.dtype)


@method()
def _typed_storage(self: Tensor) -> TypedStorage:
    return typed(face_of(self._storage), self.dtype)


@method()
def storage_type(self: Tensor) -> type:
    """Return the class of storages of this dtype: FloatStorage, LongStorage…"""
    return storage_class(DTYPE_OF[self._data.dtype])


@public
def is_storage(obj: Any, /) -> bool:
    """Tell whether an object is a storage."""
    return isinstance(obj, UntypedStorage | TypedStorage)


@method()
def is_shared(self: Tensor) -> bool:
    """Tell whether share_memory_() was called for this memory."""
    return face_of(self._storage).is_shared()


@method()
def share_memory_(self: Tensor) -> Tensor:
    """Mark the memory as shared; here it stays with this process."""
    face_of(self._storage).share_memory_()
    return self
