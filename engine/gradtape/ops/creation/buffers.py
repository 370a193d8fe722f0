"""Tensors over memory of others: buffers, arrays, files, and by DLPack."""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np

from ..._backend import backend_of
from ..._backend.dlpack_types import mark_bfloat16, unmark_bfloat16
from ..._common.type_name import type_name
from ..._common.warn import warn_once
from ..._dispatch.declare import method, public
from ..._dtypes import bfloat16, get_default_dtype, parse_dtype, uint8
from ..._dtypes import dtype as DType
from ..._storage.storage import Storage, new_storage
from ..._tensor.tensor import Tensor, wrap
from .._support.arguments import as_integer, float_dtype
from .._support.new_tensor import check_out, made
from ..memory.resize_storage import fix
from ..memory.typed_storage import TypedStorage, typed
from ..memory.untyped_storage import UntypedStorage, face_of
from ..sparse.layout import is_sparse
from .from_data import as_tensor, share, tensor

_INVALID = (
    "from_dlpack received an invalid capsule. Note that DLTensor capsules can be "
    "consumed only once, so you might have already constructed a tensor from it once."
)
_CPU = (1, 0)  # the device type and number of host memory


@method("__dlpack__")
def _dlpack(self: Tensor, *, stream: Any = None, **options: Any) -> Any:
    if self.requires_grad:
        raise BufferError(
            "Can't export tensors that require gradient, use tensor.detach()"
        )
    if is_sparse(self):
        raise BufferError("Can't export tensors with layout other than torch.strided")
    if stream is not None and type(stream) is not int:
        raise TypeError("stream must be ``int`` or ``none``")
    if backend_of(self._data).name == "numpy":
        if stream not in (None, -1):  # -1 asks for no synchronisation
            raise AssertionError("stream should be None on cpu.")
        if self.dtype is bfloat16:
            return mark_bfloat16(self._data.view(np.uint16).__dlpack__(**options))
        return self._data.__dlpack__(**options)
    return self._data.__dlpack__(stream=stream, **options)


@method("__dlpack_device__")
def _dlpack_device(self: Tensor) -> Any:
    return self._data.__dlpack_device__()


class _Capsule:
    """An object around a capsule, as NumPy wants it."""

    def __init__(self, capsule: Any, device: tuple[int, int] = _CPU) -> None:
        self._capsule, self._device = capsule, device

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device


class _Writable:
    """An array of a capsule, which says nothing of memory that must not be written."""

    def __init__(self, array: Any) -> None:
        found = array.__array_interface__
        self.__array_interface__ = {**found, "data": (found["data"][0], False)}
        self._array = array


@public
def from_dlpack(
    ext_tensor: Any, *, device: Any = None, copy: bool | None = None
) -> Tensor:
    """Return a tensor that shares the memory of another library's array.

    ``ext_tensor`` is an array, or the capsule that its ``__dlpack__()`` returned. With
    ``copy=True`` the memory is new. Raises BufferError where memory cannot be shared.

    >>> import numpy, gradtape as torch
    >>> array = numpy.zeros(2)
    >>> torch.from_dlpack(array).fill_(1.0)
    tensor([1., 1.], dtype=torch.float64)
    >>> array
    array([1., 1.])
    """
    found = _shared(ext_tensor)
    if device is not None:
        found = found.to(device=device)  # type: ignore[attr-defined]
    return found.clone() if copy else found  # type: ignore[attr-defined]


def _shared(source: Any) -> Tensor:
    if isinstance(source, Tensor):
        if source.requires_grad or is_sparse(source):
            _dlpack(source)
        return source.data
    if type(source).__name__ == "PyCapsule":
        source = _Capsule(source)
    if not hasattr(source, "__dlpack__"):
        raise RuntimeError(_INVALID)
    if type(source).__module__.partition(".")[0] == "cupy":
        return wrap(source)
    given = isinstance(source, _Capsule)
    capsule = source if given else _Capsule(_asked(source), source.__dlpack_device__())
    halved = unmark_bfloat16(capsule.__dlpack__())
    try:
        array = np.from_dlpack(capsule)
    except ValueError:
        raise RuntimeError(_INVALID) from None
    array = np.asarray(_Writable(array)) if given else array
    return share(array.view(bfloat16.numpy) if halved else array)


def _asked(source: Any) -> Any:
    """Return the capsule of an object, newer than 1.0 if it knows how to say so."""
    try:
        return source.__dlpack__(max_version=(1, 0))
    except TypeError:
        return source.__dlpack__()


@public
def to_dlpack(tensor: Tensor, /) -> Any:
    """Return a capsule that another library makes an array of, once."""
    return _dlpack(tensor)


_NUMPY_SCALAR = (
    "can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. "
)
_GRAD_KEPT = (
    "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad "
    "instead of False. Pass requires_grad=False explicitly to get the old behavior and "
    "silence this warning."
)


@public
def asarray(
    obj: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """Return ``obj`` as a tensor; ``copy`` says whether memory must or may not be new.

    A buffer is read as numbers of the dtype, or of the default one. Raises ValueError
    where ``copy=False`` cannot be kept.

    >>> import gradtape as torch
    >>> torch.asarray(bytearray(b"ab"), dtype=torch.uint8)
    tensor([97, 98], dtype=torch.uint8)
    """
    found = _looking_at(obj, dtype, copy)
    if found is None:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        found = tensor(obj, dtype=dtype, device=device)
    else:
        found = _converted(found, dtype, device, copy)
    if requires_grad is None:
        if found.requires_grad:
            warn_once(_GRAD_KEPT)
        return found
    found = found if requires_grad or found.grad_fn is None else found.detach()
    return found.requires_grad_(requires_grad)


def _looking_at(obj: Any, dtype: Any, copy: bool | None) -> Tensor | None:
    """Return a tensor over the memory of an object, or None if it is no memory."""
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, np.generic):
        if copy is False:
            raise RuntimeError(_NUMPY_SCALAR)
        return None
    if isinstance(obj, np.ndarray):
        return as_tensor(obj)
    if type(obj).__name__ == "PyCapsule":
        return from_dlpack(obj)
    try:
        memoryview(obj)
    except TypeError:
        return None
    return frombuffer(obj, dtype=get_default_dtype() if dtype is None else dtype)


def _converted(found: Tensor, dtype: Any, device: Any, copy: bool | None) -> Tensor:
    kind = found.dtype if dtype is None else parse_dtype(dtype, "asarray")
    there = found if device is None else found.to(device=device)
    if copy is False:
        if there is not found:
            raise ValueError(
                f"can't alias tensor from device '{found.device}' to '{there.device}'."
            )
        if kind is not found.dtype:
            raise ValueError(
                f"can't alias tensor with dtype '{found.dtype.cpp_name}' into dtype "
                f"'{kind.cpp_name}'."
            )
    if kind is not there.dtype:
        return there.to(kind)
    return there.clone() if copy and there is found else there


@public
def frombuffer(
    buffer: Any,
    *,
    dtype: Any,
    count: int = -1,
    offset: int = 0,
    requires_grad: bool = False,
) -> Tensor:
    """Return a 1-D tensor that shares the memory of a Python buffer."""
    kind = parse_dtype(dtype, "frombuffer")
    _check_buffer(buffer, kind.itemsize, count, offset)
    array = np.frombuffer(buffer, kind.numpy, count, offset)
    if not array.flags.writeable:
        warn_once(_READ_ONLY_BUFFER)
    fix(array)
    return made(array, requires_grad)


_READ_ONLY_BUFFER = (
    "The given buffer is not writable, and PyTorch does not support non-writable "
    "tensors. This means you can write to the underlying (supposedly non-writable) "
    "buffer using the tensor. You may want to copy the buffer to protect its data or "
    "make it writable before converting it to a tensor. This type of warning will be "
    "suppressed for the rest of this program."
)


def _check_buffer(buffer: Any, item: int, count: int, offset: int) -> None:
    """Refuse, in PyTorch's words, what cannot be read from a buffer."""
    try:
        length = memoryview(buffer).nbytes
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    if length == 0 or count == 0:
        raise ValueError(
            f"both buffer length ({length}) and count ({count}) must not be 0"
        )
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer "
            f"length ({length} bytes) minus 1"
        )
    if count < 0 and (length - offset) % item:
        raise ValueError(
            f"buffer length ({length - offset} bytes) after offset ({offset} bytes) "
            f"must be a multiple of element size ({item})"
        )
    if count > 0 and offset + count * item > length:
        raise ValueError(
            f"requested buffer length ({count} * {item} bytes) after offset ({offset} "
            f"bytes) must not be greater than actual buffer length ({length} bytes)"
        )


_TOO_SMALL = "file <{}> size <{}> is smaller than the required mapping size <{}>"


class _Mapping(mmap.mmap):
    """A file in memory, which knows whose it is where writes reach the file."""

    filename: str | None


def _mapped(filename: str, shared: bool, nbytes: int) -> Any:
    """Return the first bytes of a file as an array.

    Writes reach the file where ``shared``, and stay in this process otherwise. A shared
    file is made, and made longer, as needed. Raises RuntimeError, in PyTorch's words,
    where the file cannot be opened or is too short.
    """
    if nbytes < 0:
        raise RuntimeError(
            f"unable to mmap {nbytes} bytes from file <{filename}>: "
            f"{os.strerror(12)} (12)"
        )
    flags = os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY
    try:
        descriptor = os.open(filename, flags, 0o600)
    except OSError as error:
        way = "read-write" if shared else "read-only"
        raise RuntimeError(
            f"unable to open file <{filename}> in {way} mode: {error.strerror} "
            f"({error.errno})"
        ) from None
    try:
        length = os.fstat(descriptor).st_size
        if length < nbytes and not shared:
            raise RuntimeError(_TOO_SMALL.format(filename, length, nbytes))
        if length < nbytes:
            os.ftruncate(descriptor, nbytes)
        if not nbytes:
            return np.empty(0, np.uint8)
        access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
        mapping = _Mapping(descriptor, nbytes, access=access)
    finally:
        os.close(descriptor)
    mapping.filename = filename if shared else None
    return np.frombuffer(mapping, np.uint8)


@public
def from_file(
    filename: str,
    shared: bool | None = None,
    size: int | None = 0,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Return a tensor over the first ``size`` elements of a file.

    With ``shared=True`` what is written to the tensor is written to the file, which is
    made where there is none; otherwise it stays with this process.

    >>> import gradtape as torch, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers")
    >>> _ = torch.from_file(path, shared=True, size=3).fill_(1.0)
    >>> torch.from_file(path, size=2)
    tensor([1., 1.])
    """
    if not isinstance(filename, str):
        raise TypeError(
            f"from_file(): argument 'filename' (position 1) must be str, not "
            f"{type_name(filename)}"
        )
    check_out(None, dtype, layout, device)
    kind = float_dtype(dtype, "from_file")
    count = as_integer(size or 0, "from_file", "size", 3)
    data = _mapped(filename, bool(shared), count * kind.itemsize).view(kind.numpy)
    fix(data)
    return made(data, requires_grad)


def _held(filename: str, shared: bool, nbytes: int) -> Storage:
    data = _mapped(filename, shared, nbytes)
    fix(data)
    return new_storage(data)


def _storage_from_file(
    cls: Any, filename: str, shared: bool = False, nbytes: int = 0
) -> UntypedStorage:
    """Return the first bytes of a file as a storage; see ``from_file``."""
    return UntypedStorage(_held(filename, shared, nbytes))


def numbers_from_file(
    filename: str, shared: bool, size: int, dtype: DType = uint8
) -> TypedStorage:
    """Return the first numbers of a file as a storage; see ``from_file``."""
    return typed(face_of(_held(filename, shared, size * dtype.itemsize)), dtype)


def _filename(self: Any) -> str | None:
    """The file that writes to this memory reach; None where there is none."""
    found: Any = self._untyped_storage if isinstance(self, TypedStorage) else self
    base = found._storage.owner
    while isinstance(base, np.ndarray):
        base = base.base
    mapping = base.obj if isinstance(base, memoryview) else base
    return mapping.filename if isinstance(mapping, _Mapping) else None


for _class in (UntypedStorage, TypedStorage):
    setattr(_class, "filename", property(_filename))  # noqa: B010 - typed classes
setattr(UntypedStorage, "from_file", classmethod(_storage_from_file))  # noqa: B010
