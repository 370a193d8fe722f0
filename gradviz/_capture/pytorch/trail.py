"""Tells a pass by the calls that were noted since the one before.

A loop builds the same graph at each step. Where the same functions were called with
tensors of the same kind, in the same order and with as many nodes in between, a pass
walks the same nodes, counted from the last pass on: nobody need walk them once more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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


class Walked:
    """Sequence numbers of the nodes of a pass, as places after some number."""

    __slots__ = ("_ends", "_places", "_since", "highest", "lowest")

    def __init__(
        self, places: Sequence[int], since: int = 0, ends: tuple[int, int] | None = None
    ) -> None:
        self._places, self._since = places, since
        self._ends = ends or (min(places, default=0), max(places, default=0))
        self.lowest, self.highest = self._ends[0] + since, self._ends[1] + since

    def __iter__(self) -> Iterator[int]:
        return map(self._since.__add__, self._places)

    def __len__(self) -> int:
        return len(self._places)

    def after(self, since: int) -> Walked:
        """Return nodes at the same places after another number."""
        return Walked(self._places, since, self._ends)


class Trail:
    """What was called since the last pass, and what such passes walked."""

    def __init__(self, torch: Any, log: TorchLog) -> None:
        self._raw = log.program.raw
        self._peek = torch._C._autograd._get_sequence_nr
        self._known: dict[Any, tuple[Walked, tuple[int, ...]]] = {}
        self._since = 0  # what the first node made since then is numbered
        self._key: tuple[Any, ...] | None = None

    def passed(self) -> None:
        """Begin anew: a pass is about to run."""
        self._since = self._peek()

    def find(
        self, roots: list[Any], site: RawSite | None
    ) -> tuple[Walked, tuple[int, ...]] | None:
        """Return nodes and leaves of a pass like one that was learned."""
        self._key = key = self._key_of(roots, site)
        known = None if key is None else self._known.get(key)
        if known is None:
            return None
        walked, leaves = known
        return walked.after(self._since), leaves

    def learn(self, walked: Walked, leaves: tuple[int, ...]) -> None:
        """Remember what the pass that was not found walked."""
        key, since = self._key, self._since
        if key is not None and len(walked) and walked.lowest >= since:
            if len(self._known) >= _MOST:
                self._known.clear()
            places = [number - since for number in walked]
            self._known[key] = Walked(places), leaves

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
