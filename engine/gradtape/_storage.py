"""Storage: the memory tensors look into, with one version counter for all views."""

from __future__ import annotations

import itertools
from collections import deque
from typing import Any, NamedTuple

from ._backend import backend_of
from ._site import RawSite

WRITE_LOG_LENGTH = 64
"""How many writes a storage remembers; the oldest are forgotten first."""

next_id = itertools.count(1).__next__
_new = object.__new__


class WriteRecord(NamedTuple):
    """One in-place change: the op, the user's line, and the version it made."""

    op: str
    site: RawSite | None
    version: int


class Storage:
    """A block of memory, its version counter and its write log.

    ``owner`` is the array that the memory came with. Views share the storage, so a
    write through any of them is seen by all. Invariant: ``version`` only grows.
    """

    __slots__ = ("__weakref__", "_log", "_pointer", "id", "owner", "version")

    owner: Any
    version: int
    id: int
    _log: deque[WriteRecord] | None
    _pointer: int | None

    @property
    def writes(self) -> tuple[WriteRecord, ...]:
        """The remembered writes, oldest first."""
        return tuple(self._log or ())

    def bump(self, op: str, site: RawSite | None) -> None:
        """Count a write and remember who did it."""
        self.version += 1
        if self._log is None:
            self._log = deque(maxlen=WRITE_LOG_LENGTH)
        self._log.append(WriteRecord(op, site, self.version))

    @property
    def pointer(self) -> int:
        """Address of the first byte."""
        if self._pointer is None:
            self._pointer = backend_of(self.owner).pointer(self.owner)
        return self._pointer

    def nbytes(self) -> int:
        """Size in bytes."""
        return int(self.owner.nbytes)

    def flat(self) -> Any:
        """Return the whole memory as a 1-D array that shares it."""
        return backend_of(self.owner).flat(self.owner)

    def __repr__(self) -> str:
        return f"<Storage #{self.id} of {self.nbytes()} bytes, version {self.version}>"


def new_storage(array: Any) -> Storage:
    """Wrap the memory of a fresh array."""
    storage = _new(Storage)
    storage.owner = array
    storage.version = 0
    storage.id = next_id()
    storage._log = None
    storage._pointer = None
    return storage
