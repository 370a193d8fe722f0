"""One recorded call of the profiler, and which memory came and went."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterable, Sequence
from time import perf_counter_ns as clock
from typing import Any, NamedTuple

import numpy as np

from .._common.site import RawSite
from .._tensor.tensor import Tensor

# ---- calls ----

FUNCTION, BACKWARD_FUNCTION, USER_SCOPE = 0, 1, 7
"""PyTorch's RecordScope: an op, the run of a node, a block that the user named."""

_next_id = itertools.count(1).__next__


class Event:
    """One call. Times are ns of ``perf_counter``; ``end`` is 0 until it is over."""

    __slots__ = (
        "call",
        "end",
        "end_thread",
        "first_node",
        "id",
        "inputs",
        "last_node",
        "name",
        "native_thread",
        "note",
        "scope",
        "seq",
        "stack",
        "start",
        "thread",
        "where",
    )

    def __init__(self, name: str, scope: int) -> None:
        self.id = _next_id()
        self.name = name
        self.scope = scope
        self.end = 0
        self.end_thread = 0
        self.last_node = 0  # nodes made meanwhile have numbers in between
        self.seq = -1  # of the node it made, or that it is the run of
        self.inputs: Sequence[Any] = ()  # described arguments, see `described`
        self.note: Any = None  # keywords of a named block
        self.stack: tuple[RawSite, ...] = ()
        self.call = False  # made of other ops: its sequence number is theirs
        self.where: Any = None  # the module call it belongs to


def described(value: Any) -> Any:
    """Keep of an argument what a report tells, not its memory."""
    if isinstance(value, Tensor):
        value = value._data
    if hasattr(value, "strides") and hasattr(value, "dtype"):
        item = value.dtype.itemsize
        strides = [step // item for step in value.strides]
        return Described(list(value.shape), strides, value.dtype)
    if isinstance(value, list | tuple):
        return [described(each) for each in value]
    return value


class Described:
    """An array that was an argument."""

    __slots__ = ("dtype", "shape", "strides")

    def __init__(self, shape: list[int], strides: list[int], dtype: Any) -> None:
        self.shape = shape
        self.strides = strides
        self.dtype = dtype


# ---- memory ----


class Change(NamedTuple):
    """Memory was taken (``nbytes`` above 0) or given back."""

    time_ns: int
    thread: int  # as the recorder numbers threads
    native_thread: int
    nbytes: int
    address: int


class MemoryLog:
    """Follows arrays from when they are seen first to when they are freed.

    Arrays are watched through weak references, so being watched keeps none alive. An
    array that only shows the memory of another one is counted as that one.
    """

    def __init__(self, thread: Callable[[], tuple[int, int]]) -> None:
        self.changes: list[Change] = []
        self._thread = thread
        self._watched: dict[int, weakref.ref[Any]] = {}

    def took(self, results: Iterable[Any], inputs: Iterable[Any]) -> None:
        """Note what the memory of results is, except where an input lent it."""
        lent = {id(owner_of(each)) for each in inputs}
        for result in results:
            owner = owner_of(result)
            if owner is None or id(owner) in lent or id(owner) in self._watched:
                continue
            self._watch(owner)

    def _watch(self, owner: Any) -> None:
        key, nbytes, address = id(owner), owner.nbytes, owner.ctypes.data

        def freed(_: weakref.ref[Any]) -> None:
            if self._watched.pop(key, None) is not None:
                self._note(-nbytes, address)

        self._watched[key] = weakref.ref(owner, freed)
        self._note(nbytes, address)

    def _note(self, nbytes: int, address: int) -> None:
        self.changes.append(Change(clock(), *self._thread(), nbytes, address))

    def close(self) -> None:
        """Stop watching."""
        self._watched.clear()


def owner_of(value: Any) -> Any:
    """Return the NumPy array that owns a value's memory, None if there is none."""
    array = getattr(value, "_data", value)
    if type(array) is not np.ndarray:
        return None
    while type(array.base) is np.ndarray:
        array = array.base
    return array
