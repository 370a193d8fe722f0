"""Load an object from the archive of a saved file."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .._dtypes import uint8
from .._storage.storage import new_storage
from ..ops.memory.storages import LegacyStorage
from ..ops.memory.typed_storage import TypedStorage, typed
from ..ops.memory.untyped_storage import UntypedStorage
from ._options import LoadEndianness, get_default_load_endianness, skipping
from ._refusals import broken
from ._safe_unpickler import Reading
from ._zip_reader import ZipReader

_SIZE = (
    "record size ({} bytes) does not match expected size ({n} bytes = {n} elements * 1 "
    "bytes/element) for dtype Byte"
)


def load_archive(
    archive: ZipReader, reading: Reading, mapped: str | None, shared: bool
) -> Any:
    """Return the object of an archive; ``mapped`` is the path of a file to map.

    Raises RuntimeError for records that are not as large as the pickle says.
    """
    storages = _Storages(archive, reading, mapped, shared)
    return reading.loads(archive.read("data.pkl"), storages.persistent_load)


class _Storages:
    """The storages of an archive, each read when first asked for."""

    def __init__(
        self, archive: ZipReader, reading: Reading, mapped: str | None, shared: bool
    ) -> None:
        self._archive = archive
        self._restore = reading.restore
        self._swapped = _byte_order(archive) != sys.byteorder
        self._loaded: dict[str, UntypedStorage] = {}
        self._map: Any = None
        if mapped is not None:
            mode = "r+" if shared else "c"
            self._map = np.memmap(mapped, np.uint8, mode).view(np.ndarray)

    def persistent_load(self, saved: Any) -> TypedStorage:
        """Return the storage that an id in the pickle stands for."""
        kind, key, location, count = storage_id(saved, 5)
        dtype = uint8 if kind is UntypedStorage else kind.dtype
        storage = self._loaded.get(key)
        if storage is None:
            storage = UntypedStorage(
                new_storage(self._content(key, dtype, count * dtype.itemsize))
            )
            if self._swapped:
                storage.byteswap(dtype)
            storage = self._restore(storage, location)
            self._loaded[key] = storage
        return typed(storage, dtype)

    def _content(self, key: str, dtype: Any, nbytes: int) -> Any:
        start, size = self._archive.where(f"data/{key}")
        if size != nbytes:
            raise RuntimeError(_SIZE.format(size, n=nbytes))
        if skipping():
            content = np.zeros(nbytes, np.uint8)
        elif self._map is not None:
            content = self._map[start : start + nbytes]
        else:
            content = self._archive.load(f"data/{key}")
        return content.view(dtype.numpy)


def storage_id(saved: Any, length: int) -> tuple[Any, str, str, int]:
    """Return class, key, location and number of elements that an id of a storage names.

    Raises AssertionError or pickle.UnpicklingError for any other id.
    """
    if not isinstance(saved, tuple):
        raise AssertionError(f"saved_id must be a tuple, got {type(saved).__name__}")
    if text_of(saved[0]) != "storage":
        raise AssertionError(
            "Unknown typename for persistent_load, expected 'storage' but got "
            f"'{text_of(saved[0])}'"
        )
    if len(saved) != length:
        broken(f"the id of a storage has {len(saved)} parts")
    kind, key, location, count = saved[1], saved[2], saved[3], saved[4]
    if kind is not UntypedStorage and not isinstance(kind, LegacyStorage):
        broken(f"{kind!r:.100} is no class of storages")
    if type(count) is not int or count < 0:
        broken(f"a storage of {count!r:.100} elements")
    key, location = text_of(key), text_of(location)
    if type(key) is not str or type(location) is not str:
        broken("the key or location of a storage is no text")
    return kind, key, location, count


def text_of(value: Any) -> Any:
    """Return a text that Python 2 may have written as bytes."""
    return value.decode("ascii") if isinstance(value, bytes) else value


def _byte_order(archive: ZipReader) -> str:
    """Return the byte order of a file: ``little`` or ``big``."""
    if "byteorder" in archive:
        found = archive.read("byteorder")
        if found not in (b"little", b"big"):
            shown = found[:40].decode(errors="replace")
            raise ValueError(f"Unknown endianness type: {shown}")
        return found.decode()
    default = get_default_load_endianness()
    if default is LoadEndianness.BIG:
        return "big"
    return sys.byteorder if default is LoadEndianness.NATIVE else "little"
