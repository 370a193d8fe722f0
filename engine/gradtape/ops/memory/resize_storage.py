"""Memory that grows or shrinks: everyone who looks at it follows."""

from __future__ import annotations

import gc
import sys
import weakref
from typing import Any

from ..._backend import backend_of
from ..._dispatch.strided_views import geometry_of
from ..._storage.storage import Storage
from ..._tensor.tensor import Tensor

_NOT_RESIZABLE = "Trying to resize storage that is not resizable"

_fixed: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


def fix(owner: Any) -> None:
    """Remember that others than us use this memory: it must stay where it is."""
    _fixed[id(owner)] = owner


def is_fixed(storage: Storage) -> bool:
    """Tell whether a storage cannot be resized: NumPy uses its memory too."""
    return _fixed.get(id(storage.owner)) is storage.owner


def resize_memory(storage: Storage, nbytes: int, only: Tensor | None = None) -> None:
    """Give a storage another size; what fits of its bytes stays, new ones are zero.

    ``only`` is a tensor that the caller will place anew. Raises RuntimeError where
    NumPy shares the memory.
    """
    if nbytes == storage.nbytes():
        return
    if is_fixed(storage):
        raise RuntimeError(_NOT_RESIZABLE)
    old = storage.owner
    alone = only is not None and sys.getrefcount(old) <= _ALONE
    storages = [storage] if alone else _storages_over(old)
    tensors = [] if alone else [each for s in storages for each in _lookers(s)]
    places = [(t, geometry_of(t)) for t in tensors if t is not only]
    xp = backend_of(old).xp
    new = xp.zeros(nbytes, "uint8")
    kept = min(nbytes, storage.nbytes())
    new[:kept] = storage.flat().view("uint8")[:kept]
    owner = new if nbytes % old.itemsize else new.view(old.dtype)
    for each in storages:
        each.owner, each._pointer = owner, None
    for tensor, at in places:
        if at.end * tensor._data.itemsize <= nbytes:
            flat = storage.flat_as(tensor._data.dtype)
            tensor._data = backend_of(owner).strided(flat, *at)


_ALONE = 4
"""References to memory that one tensor looks at: it, its storage, two of ours."""


def _storages_over(owner: Any) -> list[Storage]:
    return [s for s in gc.get_referrers(owner) if isinstance(s, Storage)]


def _lookers(storage: Storage) -> list[Tensor]:
    return [t for t in gc.get_referrers(storage) if isinstance(t, Tensor)]
