"""Tells a pass by the calls that were noted since the one before.

A loop builds the same graph at each step. Where the same functions were called with
tensors of the same kind, in the same order and with as many nodes in between, a pass
walks the same nodes, counted from the last pass on: nobody need walk them once more.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

from gradviz._capture.pytorch.tables import NEEDS, NODE, SHAPE
from gradviz.program.events import Backward, Call
from gradviz.program.noted import Glance
from gradviz.program.values import RawSite

if TYPE_CHECKING:
    from gradviz._capture.pytorch.log import TorchLog

_MOST = 64  # passes that are known; a loop has a few
_GLANCES = 7  # of a run's note
_NODE_OF, _SHAPE_OF = itemgetter(NODE), itemgetter(SHAPE)


class Trail:
    """What was called since the last pass, and what such passes walked."""

    def __init__(self, torch: Any, log: TorchLog) -> None:
        self._raw = log.program.raw
        self._peek = torch._C._autograd._get_sequence_nr
        self._known: dict[Any, tuple[list[int], tuple[int, ...]]] = {}
        self._since = 0  # what the first node made since then is numbered
        self._key: tuple[Any, ...] | None = None

    def passed(self) -> None:
        """Begin anew: a pass is about to run."""
        self._since = self._peek()

    def find(
        self, roots: list[Any], site: RawSite | None
    ) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Return nodes and leaves of a pass like one that was learned."""
        self._key = key = self._key_of(roots, site)
        known = None if key is None else self._known.get(key)
        if known is None:
            return None
        since, (places, leaves) = self._since, known
        return tuple(map(since.__add__, places)), leaves

    def learn(self, numbers: tuple[int, ...], leaves: tuple[int, ...]) -> None:
        """Remember what the pass that was not found walked."""
        key, since = self._key, self._since
        if key is not None and numbers and min(numbers) >= since:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[key] = [number - since for number in numbers], leaves

    def _key_of(self, roots: list[Any], site: RawSite | None) -> tuple[Any, ...] | None:
        since, parts = self._since, [site and site[1]]
        met: list[Glance | None] = []
        for noted in reversed(self._raw):
            if type(noted) is not tuple:
                if isinstance(noted, Backward | Call):
                    return None  # of a Function, or somebody reads the log meanwhile
                continue
            kind = noted[0]
            if kind == "call":
                if nodes := noted[4]:
                    begun = noted[2]
                    given = begun[5]
                    met += given
                    parts += begun[0], nodes[0] - since, len(nodes), len(given)
            elif kind == "run":
                met += noted[_GLANCES]
                parts += noted[2], noted[4] - since
            elif kind == "backward":
                break
        else:
            return None  # the pass before was dropped, or there is none
        glances = list(filter(None, met))  # None: what a module gave to the next
        oldest = min(filter(None, map(_NODE_OF, glances)), default=since + 1)
        if oldest <= since or None in roots:
            return None  # made before the last pass
        return (
            *parts,
            *map(_SHAPE_OF, glances),
            *[
                node - since if (node := each[NODE]) else each[NEEDS] and -each[0]
                for each in glances
            ],
            *[fn._sequence_nr() - since for fn in roots],
        )
