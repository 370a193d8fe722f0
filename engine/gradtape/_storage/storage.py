"""Storage: the memory tensors look into, with one version counter for all views."""

from __future__ import annotations

import itertools
from collections import deque
from typing import Any, NamedTuple

from .._backend import backend_of
from .._common import messages as _errors
from .._common.compiled import compiled
from .._common.site import RawSite
from .._modes.grad_mode import mode

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

    inference: bool = False  # whether its tensors are inference tensors

    owner: Any
    version: int
    id: int
    _log: deque[WriteRecord] | None
    _pointer: int | None

    @property
    def writes(self) -> tuple[WriteRecord, ...]:
        """The remembered writes, oldest first."""
        return tuple(self._log or ())

    def bump(self, op: str, site: RawSite | None) -> int:
        """Count a write, remember who did it, and return the version it made."""
        version = self.version = self.version + 1
        if self._log is None:
            self._log = deque(maxlen=WRITE_LOG_LENGTH)
        self._log.append(WriteRecord(op, site, version))
        return version

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

    def flat_as(self, dtype: Any) -> Any:
        """Return the memory as a 1-D array of another dtype, without a broken end."""
        flat = self.flat()
        if flat.dtype == dtype:
            return flat
        raw = flat.view("uint8")
        return raw[: len(raw) // dtype.itemsize * dtype.itemsize].view(dtype)

    def __repr__(self) -> str:
        return f"<Storage #{self.id} of {self.nbytes()} bytes, version {self.version}>"


class InferenceStorage(Storage):
    """Memory of a tensor made in inference mode: nobody counts who writes to it.

    Asking for the version is what every way of saving a tensor does, and such a
    tensor cannot be saved: so asking raises. ``bump`` says that PyTorch refuses
    writes from outside, after they were done.
    """

    __slots__ = ()
    inference = True

    @property
    def version(self) -> int:  # type: ignore[override]
        raise RuntimeError(_errors.INFERENCE_SAVED)

    def bump(self, op: str, site: RawSite | None) -> int:
        if not mode.now.inference:
            raise RuntimeError(_errors.INFERENCE_WRITTEN)
        return 0

    def __repr__(self) -> str:
        return f"<Storage #{self.id} of {self.nbytes()} bytes, for inference>"


class BorrowedStorage(Storage):
    """Memory of one storage, writes counted by another.

    ``x.data = y`` gives x the memory of y, but whoever shared a version with x goes on
    sharing it; ``x.set_(y)`` does the same.
    """

    __slots__ = ("counter", "inference")

    counter: Storage

    @property
    def version(self) -> int:  # type: ignore[override]
        return self.counter.version

    @version.setter
    def version(self, value: int) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        self.counter.version = value


def borrowed(memory: Storage, counter: Storage) -> Storage:
    """Return the memory of one storage with the version counter of another."""
    storage = _new(BorrowedStorage)
    storage.owner = memory.owner
    storage.id = next_id()
    storage._log = None
    storage._pointer = None
    storage.inference = memory.inference
    while isinstance(counter, BorrowedStorage):
        counter = counter.counter
    if type(counter) is InferenceStorage:
        counter = new_storage(counter.owner)
    storage.counter = counter
    return storage


def sharing(memory: Storage) -> Storage:
    """Return the memory of a storage with a version counter of its own."""
    if memory.inference and mode.now.inference:
        return inference_storage(memory.owner)
    fresh = new_storage(memory.owner)
    return borrowed(memory, fresh) if memory.inference else fresh


def inference_storage(array: Any) -> InferenceStorage:
    """Wrap the memory of a fresh array made in inference mode."""
    storage = _new(InferenceStorage)
    storage.owner = array
    storage.id = next_id()
    storage._log = None
    storage._pointer = None
    return storage


def new_storage(array: Any) -> Storage:
    """Wrap the memory of a fresh array."""
    storage = _new(Storage)
    storage.owner = array
    storage.version = 0
    storage.id = next_id()
    storage._log = None
    storage._pointer = None
    return storage


new_storage = compiled(new_storage)
