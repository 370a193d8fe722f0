"""Knows which event made a node, from notes that are read when somebody asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Any

from gradviz.program.noted import Noted


class Producers:
    """The events that made nodes; as a call is logged, its note is all that is kept."""

    def __init__(self, learn: Callable[[int, int], None]) -> None:
        """``learn`` is told of the first and last of nodes made in a row."""
        self.recent: list[Noted] = []
        """Calls and runs of late whose nodes need no closer look."""
        self._learn = learn
        self._noted: list[Noted] = []  # what was told before, since somebody asked
        self._known: dict[int, int] = {}
        self._passed: tuple[list[Noted], int] = self._noted, 0  # at the last pass

    def settle(self) -> None:
        """Let it be known ahead of a pass which nodes need no closer look."""
        first = last = -1
        for noted in self.recent:
            nodes = noted[4]
            if noted[0] == "run":
                begin, end = nodes + 1, nodes + noted[2].count
            else:
                begin, end = nodes[0], nodes[-1]
            if begin != last + 1:
                if last >= 0:
                    self._learn(first, last)
                first = begin
            last = end
        if last >= 0:
            self._learn(first, last)
        self._noted += self.recent
        self.recent.clear()

    def add(self, nodes: Sequence[int], maker: int, header: Any = None) -> None:
        """Remember which event made these nodes, which may need a closer look."""
        self.settle()
        self._noted.append(("call", maker, header, None, nodes))

    def since_pass(self) -> list[Noted] | None:
        """Return what was told since the last pass; None where that is not known."""
        noted, count = self._passed
        if noted is not self._noted:
            return None
        return noted[count:] + self.recent[max(0, count - len(noted)) :]

    def passed(self) -> None:
        """Begin anew: a pass is about to run."""
        self._passed = self._noted, len(self._noted) + len(self.recent)

    def add_between(self, first: int, last: int, index: int) -> list[int]:
        """Remember what a pass with ``create_graph`` made; return these nodes.

        What calls in its hooks and Functions made is theirs.
        """
        known = self._all()
        made = [key for key in range(first + 1, last + 1) if key not in known]
        known.update(dict.fromkeys(made, index))
        return made

    def get(self, key: int) -> int | None:
        """Return the index of the event that made a node."""
        return self._all().get(key)

    def forget(self, first: int, but: Set[int] = frozenset()) -> list[int]:
        """Drop what was made before this event, but for some; return the nodes."""
        known = self._all()
        old = [
            key for key, maker in known.items() if maker < first and maker not in but
        ]
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
                self._known.update(
                    enumerate(map(index.__add__, run.producers), first + 1)
                )
        return self._known
