"""Files as memory: ``torch.from_file`` and the storages' ``from_file``."""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np

from ..._common.type_name import type_name
from ..._dispatch.declare import public
from ..._dtypes import dtype as DType
from ..._dtypes import uint8
from ..._storage.storage import Storage, new_storage
from ..._tensor.tensor import Tensor
from .._support.arguments import as_integer, float_dtype
from .._support.new_tensor import check_out, made
from ..memory.resize_storage import fix
from ..memory.typed_storage import TypedStorage, typed
from ..memory.untyped_storage import UntypedStorage, face_of

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
