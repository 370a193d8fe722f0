"""Tables of tensors and their memory, and of what nodes gave, while a log grows."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from gradviz.program.log import Identities, Log
from gradviz.program.noted import Glance

_MOST_SHAPES = 250  # that are shared
_MOST_UNRESOLVED = 1_000  # results, before there is made room in the tables
GLANCE = 2
"""Where rows of the table of tensors keep the last glance."""

STORAGE, VERSION, SHAPE, DTYPE, NEEDS, NODE = 1, 2, 3, 6, 8, 11
IS_LEAF, IS_VIEW = 9, 10
"""Places of fields in a glance; output comes after node, a summary may be missing."""


class TensorTable:
    """Knows tensors and storages by numbers, and how they were last seen."""

    def __init__(self, log: Log, scan: bool) -> None:
        self.log = log
        self.scan = scan
        self.storages = Identities()
        self.detailed = False  # a graph is recorded too
        self.sizes: dict[int, tuple[int, int]] = {}  # storage -> bytes, of an element
        self.unversioned: set[int] = set()  # storages that change behind their version
        self._outputs: dict[int, Glance] = {}  # by output_key()
        # Outputs that nobody has asked for yet, or the notes of runs that have some.
        self._fresh: list[tuple[Any, ...]] = []
        self._tensors = log.tensors
        self.rows = log.tensors.rows  # by id: reference, number, the last glance
        self._unresolved: list[Any] = []  # rows whose storage nobody has looked at
        self._most = log.most  # results that are remembered: as many as events
        self._sizes_room = 2 * self._most
        self.forgotten = 0  # leaves
        self.shapes: dict[Any, Any] = {}  # and strides and sizes that are shared
        self.words: dict[Any, str] = {}  # of dtypes and devices
        self.describe_later = self._later_describer()

    @property
    def outputs(self) -> dict[int, Glance]:
        """The outputs of nodes as they were last seen, by :func:`output_key`."""
        outputs, fresh = self._outputs, self._fresh
        for each in fresh:
            for glance in each[2].outputs(each) if each[0] == "run" else (each,):
                outputs[output_key(glance[NODE], glance[NODE + 1])] = glance
        fresh.clear()
        if len(outputs) > self._most:
            for key in list(outputs)[: self._most // 2]:
                del outputs[key]
        return outputs

    def _later_describer(self) -> Callable[[Any, Glance, tuple[Any, ...]], None]:
        """Return what knows a result, or what a run gave, by a description from now on.

        Its storage has a number, but is looked at only when one is looked up.
        """
        rows, unresolved, fresh = self.rows, self._unresolved, self._fresh
        ref = weakref.ref

        def describe_later(
            tensor: Any, glance: Glance, output: tuple[Any, ...]
        ) -> None:
            rows[id(tensor)] = row = ref(tensor), glance[0], glance
            unresolved.append(row)
            fresh.append(output)
            if len(unresolved) > _MOST_UNRESOLVED:
                self._make_room()

        return describe_later

    def _make_room(self) -> None:
        """Forget in the tables what is gone, or was given long ago."""
        self.resolve()
        self._tensors.prune()
        if len(self._fresh) > self._most:
            del self._fresh[: self._most // 2]

    def storage_of(self, storage: Any) -> int:
        """Return the number of a storage."""
        if self._unresolved:
            self.resolve()
        return self.storages.of(storage)

    def resolve(self) -> None:
        """Give storages the numbers that were set aside for them."""
        for reference, _, glance in self._unresolved:
            tensor = reference()
            if tensor is not None:
                self.storages.give(tensor.untyped_storage(), glance[STORAGE])
        self._unresolved.clear()

    def forget(self, tensor: Any) -> None:
        """Describe this tensor anew when it is met again."""
        row = self.rows.get(id(tensor))
        if row is not None and row[0]() is tensor:
            self.rows[id(tensor)] = row[:GLANCE]
            self.forgotten += len(row) <= GLANCE or row[GLANCE][IS_LEAF]

    def _forget_sizes(self) -> None:
        """Forget storages of long ago, but for those of living tensors."""
        rows = list(self.rows.values())
        living = {row[GLANCE][STORAGE] for row in rows if len(row) > GLANCE}
        for number in list(self.sizes)[: -self._most]:
            if number not in living:
                del self.sizes[number]
        self._sizes_room = max(2 * self._most, 2 * len(self.sizes))

    def shared(self, sizes: Any) -> Any:
        if len(self.shapes) > _MOST_SHAPES:
            self.shapes.clear()
        return self.shapes.setdefault(sizes, sizes)

    def word(self, thing: Any) -> str:
        word = self.words[thing] = str(thing).removeprefix("torch.")
        return word


def with_version(known: Glance, version: int) -> Glance:
    """Return a glance with this version; field by field, as that is fastest."""
    a, b, before, c, d, e, f, g, h, i, j, k, m, n = known
    if before == version:
        return known
    return a, b, version, c, d, e, f, g, h, i, j, k, m, n


def output_key(node: int, number: int) -> int:
    """Return one number for an output of a node."""
    return node << 32 | number
