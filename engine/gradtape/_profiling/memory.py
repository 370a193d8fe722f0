"""Which memory came and went while a profiler was on, to the nanosecond."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from time import perf_counter_ns as clock
from typing import Any, NamedTuple

import numpy as np


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
