"""Memory that NumPy shares: who writes there tells nobody, so its bytes are watched."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape._debug import fingerprint
from gradviz._capture.adapters.gradtape.tensor_records import root_of

EXPORTING = frozenset(
    {
        *("numpy", "__array__", "from_numpy", "as_tensor", "asarray", "frombuffer"),
        *("from_dlpack", "to_dlpack", "__dlpack__"),
    }
)

_MOST = 64


class _Shared:
    """One block of memory that others may write to."""

    __slots__ = ("array", "print", "seen")

    def __init__(self, array: Any, seen: int) -> None:
        self.array = weakref.ref(array)
        self.print = fingerprint(array)
        self.seen = seen  # the last event that found it unchanged


class Exports:
    """Tells between which two events shared memory changed without a version."""

    def __init__(self) -> None:
        self.shared: dict[int, _Shared] = {}  # by storage
        self.changed: dict[int, int] = {}  # storage: the last event before the change

    def share(self, storage: int, array: Any, index: int) -> None:
        """Watch memory from an event on."""
        root = root_of(array)
        if type(root) is np.ndarray and len(self.shared) < _MOST:
            self.shared.setdefault(storage, _Shared(root, index))

    def look(self, index: int, written: Sequence[int] = ()) -> list[int]:
        """Compare all shared memory at an event; ``written`` was by an op.

        Returns the storages that others have written to.
        """
        silently: list[int] = []
        for storage, shared in list(self.shared.items()):
            array = shared.array()
            if array is None:
                del self.shared[storage]
                continue
            found = fingerprint(array)
            if found != shared.print and storage not in written:
                self.changed.setdefault(storage, shared.seen)
                silently.append(storage)
            shared.print, shared.seen = found, index
        return silently
