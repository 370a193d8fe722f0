"""Read the format before PyTorch 1.6: several pickles in a row, then raw storages."""

from __future__ import annotations

import os
import struct
import sys
from typing import Any

import numpy as np

from .._dtypes import uint8
from .._storage.storage import new_storage
from ..ops.memory.pickling import coordinates_checked_last
from ..ops.memory.typed_storage import TypedStorage, typed
from ..ops.memory.untyped_storage import UntypedStorage
from ._archive import storage_id, text_of
from ._options import skipping
from ._pickler import content, dump
from ._refusals import TruncatedPickleError, broken, check_source
from ._safe_unpickler import Reading
from ._zip_reader import read_into

_TAR = (
    "This file is in the .tar format of PyTorch 0.1, which is not read any more. Load "
    "it in PyTorch and save it again with torch.save."
)
_COUNT = struct.Struct("<q")


def legacy_load(file: Any, reading: Reading) -> Any:
    """Return the object of a file in the old format.

    Raises RuntimeError for a file in no known format, EOFError for an empty one.
    """
    _refuse_tar(file)
    if reading.load(file, None) != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = reading.load(file, None)
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version}")
    system = reading.load(file, None)
    swapped = isinstance(system, dict) and not system.get("little_endian", True)
    storages = _Storages(reading, swapped, _left(file))
    with coordinates_checked_last():
        result = reading.load(file, storages.persistent_load)
        storages.fill(file, reading.load(file, None))
    return result


class _Storages:
    """Storages that the pickle names before their contents come.

    ``room`` is how many bytes the file still has: they cannot be larger together.
    """

    def __init__(self, reading: Reading, swapped: bool, room: int) -> None:
        self._restore = reading.restore
        self._swapped = swapped
        self._room = room
        self._storages: dict[str, TypedStorage] = {}

    def persistent_load(self, saved: Any) -> Any:
        """Return the storage, or class of a module, that an id in the pickle names."""
        if isinstance(saved, tuple) and text_of(saved[0]) == "module":
            if all(saved[2:]):  # PyTorch found no source otherwise
                check_source(*saved[1:])
            return saved[1]
        kind, key, location, count = storage_id(saved, 6)
        dtype = uint8 if kind is UntypedStorage else kind.dtype
        if key not in self._storages:
            self._room -= count * dtype.itemsize
            if self._room < 0:
                broken(f"a storage of {count} elements, more than the file has")
            empty = np.zeros(count, dtype.numpy)
            storage = UntypedStorage(new_storage(empty))
            self._storages[key] = typed(self._restore(storage, location), dtype)
        found = typed(self._storages[key].untyped(), dtype)
        view = saved[5]
        return found if view is None else self._view(found, view)

    def _view(self, storage: TypedStorage, view: Any) -> TypedStorage:
        """Return the storage that an older file sees as a part of another."""
        if not isinstance(view, tuple) or len(view) != 3:
            broken(f"{view!r:.100} is no part of a storage")
        key, offset, count = view
        whole = storage._numbers()
        if not 0 <= offset <= offset + count <= len(whole):
            broken(f"a part of a storage that ends after its {len(whole)} elements")
        if key not in self._storages:
            part = UntypedStorage(new_storage(whole[offset : offset + count]))
            self._storages[key] = typed(part, storage.dtype)
        return self._storages[key]

    def fill(self, file: Any, keys: Any) -> None:
        """Read the contents of the storages, which follow in the order of ``keys``."""
        if not isinstance(keys, list):
            broken("the list of its storages is missing")
        for key in keys if not skipping() else ():
            storage = self._storages.get(text_of(key))
            if storage is None:
                broken(f"storage {key!r:.100} belongs to no tensor")
            self._fill(file, storage)

    def _fill(self, file: Any, storage: TypedStorage) -> None:
        head = file.read(_COUNT.size)
        if len(head) < _COUNT.size:
            raise TruncatedPickleError("The file ends before its storages.")
        (count,) = _COUNT.unpack(head)
        if count != storage.size():
            broken(f"a storage of {storage.size()} elements is followed by {count}")
        target = storage.untyped()
        host = target if not target.is_cuda else UntypedStorage(target.nbytes())
        for _ in read_into(file, host._bytes()):
            pass
        if self._swapped:
            host.byteswap(storage.dtype)
        if host is not target:
            target.copy_(host.to(device=target.device))


def _refuse_tar(file: Any) -> None:
    start = file.tell()
    header = file.read(512)
    file.seek(start)
    if header[257:262] == b"ustar" and header[:8] == b"storages":
        raise RuntimeError(_TAR)


def _left(file: Any) -> int:
    """Return how many bytes a file still has."""
    here = file.tell()
    end = file.seek(0, os.SEEK_END) or file.tell()
    file.seek(here)
    return end - here


# ---- writing it ----

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001

_SYSTEM = {
    "protocol_version": PROTOCOL_VERSION,
    "little_endian": sys.byteorder == "little",
    "type_sizes": {"short": 2, "int": 4, "long": 4},
}


def legacy_save(obj: Any, file: Any, pickle_module: Any, protocol: int) -> None:
    """Write an object in the old format: header, pickle, keys, then each storage."""
    for part in (MAGIC_NUMBER, PROTOCOL_VERSION, _SYSTEM):
        pickle_module.dump(part, file, protocol=protocol)
    pickled, table = dump(obj, pickle_module, protocol, legacy=True)
    file.write(pickled)
    keys = sorted(table.storages)
    pickle_module.dump(keys, file, protocol=protocol)
    file.flush()
    for key in keys:
        storage = table.storages[key]
        file.write(struct.pack("<q", storage.nbytes() // table.item_sizes[key]))
        file.write(content(storage))
