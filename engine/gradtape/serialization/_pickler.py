"""Turn an object into the pickle of a saved file: storages apart, names PyTorch's."""

from __future__ import annotations

import io
import pickle
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from .._backend import backend_of
from .._dtypes import dtype as DType
from ..ops.memory.memory_format import memory_format as MemoryFormat
from ..ops.memory.storages import storage_class
from ..ops.memory.typed_storage import TypedStorage
from ..ops.memory.untyped_storage import UntypedStorage
from ._location import location_tag
from ._names import name_in_file
from ._refusals import source_of

_TWO_DTYPES = (
    "Cannot save multiple tensors or storages that view the same data as different "
    "types"
)


class StorageTable:
    """The storages met while pickling, by the keys that stand for them."""

    def __init__(self, legacy: bool = False) -> None:
        self.storages: dict[str, UntypedStorage] = {}
        self.item_sizes: dict[str, int] = {}
        self._keys: dict[int, str] = {}
        self._types: dict[str, Any] = {}
        self._legacy = legacy
        self._modules: set[type] = set()

    def persistent_id(self, obj: Any) -> tuple[Any, ...] | None:
        """Return what stands for a storage in the pickle; None for anything else.

        In the old format something stands for the class of a module, too. Raises
        RuntimeError where one memory is looked at as two dtypes.
        """
        if isinstance(obj, type):
            return self._module(obj) if self._legacy else None
        if isinstance(obj, TypedStorage):
            storage, kind, item = (
                obj.untyped(),
                storage_class(obj.dtype),
                obj.element_size(),
            )
        elif isinstance(obj, UntypedStorage):
            storage, kind, item = obj, UntypedStorage, 1
        else:
            return None
        key = self._key_of(storage)
        if self._types.setdefault(key, kind) is not kind and storage.nbytes():
            raise RuntimeError(_TWO_DTYPES)
        self.storages[key] = storage
        self.item_sizes.setdefault(key, item)
        found = ("storage", kind, key, location_tag(storage), storage.nbytes() // item)
        return (*found, None) if self._legacy else found

    def _module(self, kind: type) -> tuple[Any, ...] | None:
        """Return a class with its source, the first time that it is met.

        The layers of this package have another source than PyTorch's: none is given.
        """
        from ..nn import Module

        if kind in self._modules or not issubclass(kind, Module):
            return None
        self._modules.add(kind)
        own = kind.__module__.startswith("gradtape.")
        return "module", kind, *((None, None) if own else source_of(kind))

    def _key_of(self, storage: UntypedStorage) -> str:
        if self._legacy:
            return str(storage._cdata)
        return self._keys.setdefault(storage._cdata, str(len(self._keys)))


def content(storage: UntypedStorage) -> Any:
    """Return the bytes of a storage, in host memory, without copying them there."""
    owner = storage._storage.owner
    if not storage.nbytes():
        return b""
    host = backend_of(owner).to_host(storage._storage.flat())
    return np.ascontiguousarray(host).view(np.uint8).data


def dump(
    obj: Any, pickle_module: Any, protocol: int, legacy: bool = False
) -> tuple[bytes, StorageTable]:
    """Return the pickle of an object, with PyTorch's names, and its storages."""
    table = StorageTable(legacy)
    if pickle_module is pickle and protocol < 4:
        found = _quick(obj, table, protocol)
        if found is not None:
            return found, table
        table = StorageTable(legacy)
    buffer = io.BytesIO()
    pickler = _pickler_of(pickle_module)(buffer, protocol=protocol)
    pickler.table = table
    pickler.dump(obj)
    return buffer.getvalue(), table


# ---- the quick way: the pickler in C, and names changed afterwards ----

_WITH_NAMES = (type, FunctionType, BuiltinFunctionType, DType, MemoryFormat)


class _Noting(pickle.Pickler):
    """Notes the lines it is about to write for things that PyTorch names otherwise."""

    def __init__(self, file: Any, protocol: int, table: StorageTable) -> None:
        super().__init__(file, protocol=protocol)
        self._table = table
        self.renamed: dict[bytes, bytes] = {}

    def persistent_id(self, obj: Any) -> Any:
        return self._table.persistent_id(obj)

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, _WITH_NAMES):
            found = name_in_file(obj)
            if found is not None:
                self.renamed[_line(*_own_name(obj))] = _line(*found)
        return NotImplemented


def _own_name(obj: Any) -> tuple[str, str]:
    if isinstance(obj, DType | MemoryFormat):
        return "gradtape", repr(obj).removeprefix("torch.")
    return obj.__module__, obj.__qualname__


def _line(module: str, name: str) -> bytes:
    return pickle.GLOBAL + f"{module}\n{name}\n".encode()


def _quick(obj: Any, table: StorageTable, protocol: int) -> bytes | None:
    """Return the pickle; None where a name must be changed before it is written.

    A pickler writes the line of a name once. Found more often, it is also part of some
    text, and nobody knows which one to change.
    """
    buffer = io.BytesIO()
    pickler = _Noting(buffer, protocol, table)
    try:
        pickler.dump(obj)
    except (pickle.PicklingError, AttributeError):
        return None
    found = buffer.getvalue()
    for ours, theirs in pickler.renamed.items():
        if found.count(ours) != 1:
            return None
        found = found.replace(ours, theirs)
    return found


# ---- the other way: a pickler in Python, which asks before it writes ----


class _Naming:
    """What turns a pickler of the standard library's kind into one of ours."""

    table: StorageTable

    def persistent_id(self, obj: Any) -> Any:
        return self.table.persistent_id(obj)

    def save_global(self, obj: Any, name: str | None = None) -> None:
        own: Any = self
        found = name_in_file(obj, name)
        if found is None:
            super().save_global(obj, name)  # type: ignore[misc]
            return
        if own.proto >= 4:
            own.save(found[0])
            own.save(found[1])
            own.write(pickle.STACK_GLOBAL)
        else:
            own.write(_line(*found))
        own.memoize(obj)


def _pickler_of(pickle_module: Any) -> Any:
    """Return a subclass of the module's pickler that knows storages and names.

    A pickler written in C does not say which global it is about to write; the standard
    library has one in Python, too. Others keep our names, which ``load`` understands.
    """
    base = pickle._Pickler if pickle_module is pickle else pickle_module.Pickler  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    body: dict[str, Any] = {}
    dispatch = getattr(base, "dispatch", None)
    if dispatch is not None:
        renaming = {
            key: _Naming.save_global
            for key, function in dispatch.items()
            if function is pickle._Pickler.save_global  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
        }
        body["dispatch"] = {**dispatch, **renaming}
    return type("Pickler", (_Naming, base), body)
