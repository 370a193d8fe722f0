"""Knows which event made a node, from notes that are read when somebody asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gradviz.program.noted import Noted

if TYPE_CHECKING:
    from gradviz._capture.pytorch.ahead import TorchAhead


class Makers:
    """The events that made nodes; as a call is logged, its note is all that is kept."""

    def __init__(self, ahead: TorchAhead) -> None:
        self.told: list[Noted] = []
        """Calls and runs since the last look ahead whose nodes need no closer look."""
        self._ahead = ahead
        self._noted: list[Noted] = []  # the same before that, since somebody asked
        self._known: dict[int, int] = {}

    def settle(self) -> None:
        """Let it be known ahead of a pass which nodes need no closer look."""
        made = self._ahead.made
        for noted in self.told:
            if noted[0] == "call":
                made(noted[4][0], noted[4][-1])
            else:
                made(noted[4] + 1, noted[4] + noted[2].count)
        self._noted += self.told
        self.told.clear()

    def add(self, nodes: Sequence[int], maker: int) -> None:
        """Remember which event made these nodes, which may need a closer look."""
        self.settle()
        self._noted.append(("call", maker, None, None, nodes))

    def add_between(self, first: int, last: int, index: int) -> None:
        """Remember what a pass with ``create_graph`` made, besides calls of its own."""
        known = self._all()
        for key in range(first + 1, last + 1):
            known.setdefault(key, index)

    def get(self, key: int) -> int | None:
        """Return the index of the event that made a node."""
        return self._all().get(key)

    def forget(self, first: int) -> list[int]:
        """Drop what was made before this event; return the nodes."""
        known = self._all()
        old = [key for key, maker in known.items() if maker < first]
        for key in old:
            del known[key]
        return old

    def _all(self) -> dict[int, int]:
        self.settle()
        notes, self._noted = self._noted, []
        for noted in notes:
            if noted[0] == "call":
                self._known.update(dict.fromkeys(noted[4], noted[1]))
            else:
                _, index, run, _, first, *_ = noted
                self._known.update(enumerate(map(index.__add__, run.makers), first + 1))
        return self._known
