"""Records of objects that belong to someone else, each known while its object lives."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Known(Generic[T, R]):
    """Finds the record of an object by its identity, and keeps no object alive.

    What a ``WeakKeyDictionary`` does, for objects that nobody else compares or hashes.
    Nothing is called when one of them dies: forget the dead now and then.
    """

    __slots__ = ("_records", "_references")

    def __init__(self) -> None:
        self._records: dict[int, R] = {}
        self._references: dict[int, weakref.ref[T]] = {}

    def __len__(self) -> int:
        """How many are known, the dead that were not forgotten yet among them."""
        return len(self._references)

    def get(self, key: T) -> R | None:
        """Return the record of an object; None for one that is not known."""
        reference = self._references.get(id(key))
        if reference is None or reference() is not key:  # another one lived there
            return None
        return self._records[id(key)]

    def add(self, key: T, record: R) -> None:
        """Know an object by this record from now on."""
        self._references[id(key)] = weakref.ref(key)
        self._records[id(key)] = record

    def alive(self) -> Iterator[tuple[T, R]]:
        """Yield the objects that are alive, with their records."""
        for place, reference in list(self._references.items()):
            key = reference()
            if key is not None:
                yield key, self._records[place]

    def forget_dead(self) -> None:
        """Drop the records of objects that are gone."""
        references = self._references
        for place in [at for at, known in references.items() if known() is None]:
            del references[place], self._records[place]
