"""Tells a pass by the calls that were noted since the one before.

A loop builds the same graph at each step. Where the same functions were called with
tensors of the same kind, in the same order and with as many nodes in between, a pass
walks the same nodes, counted from the last pass on: nobody need walk them once more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gradviz._capture.adapters.pytorch.graph.tensor_table import NEEDS, NODE, SHAPE
from gradviz.program.noted import Glance, Noted
from gradviz.program.values import RawSite

_MOST = 64  # passes that are known; a loop has a few
_SEEN = 7  # of a run's note


class WalkedNodes:
    """Sequence numbers of the nodes of a pass, as places after some number."""

    __slots__ = ("_ends", "_places", "_since", "count", "highest", "lowest")

    def __init__(
        self, places: Sequence[int], since: int = 0, ends: tuple[int, int] | None = None
    ) -> None:
        self._places, self._since, self.count = places, since, len(places)
        self._ends = ends or (min(places, default=0), max(places, default=0))
        self.lowest, self.highest = self._ends[0] + since, self._ends[1] + since

    def __iter__(self) -> Iterator[int]:
        return map(self._since.__add__, self._places)

    def keys(self) -> Iterator[int]:
        """Return the keys of these nodes, one above their numbers."""
        return map((self._since + 1).__add__, self._places)

    def after(self, since: int) -> WalkedNodes:
        """Return nodes at the same places after another number."""
        return WalkedNodes(self._places, since, self._ends)


class PassCache:
    """What was called since the last pass, and what such passes walked."""

    def __init__(self, torch: Any) -> None:
        self._peek = torch._C._autograd._get_sequence_nr
        self._known: dict[Any, tuple[WalkedNodes, tuple[int, ...]]] = {}
        self._since = 0  # what the first node made since then is numbered
        self._key: tuple[Any, ...] | None = None

    def passed(self) -> None:
        """Begin anew: a pass is about to run."""
        self._since = self._peek()

    def find(
        self, roots: list[Any], site: RawSite | None, notes: list[Noted] | None
    ) -> tuple[WalkedNodes, tuple[int, ...]] | None:
        """Return nodes and leaves of a pass like one that was learned.

        ``notes`` are those of the calls since the last one, where they are known.
        """
        self._key = key = self._key_of(roots, site, notes) if notes else None
        known = None if key is None else self._known.get(key)
        if known is None:
            return None
        walked, leaves = known
        return walked.after(self._since), leaves

    def learn(self, walked: WalkedNodes, leaves: tuple[int, ...]) -> None:
        """Remember what the pass that was not found walked."""
        key, since = self._key, self._since
        if key is not None and walked.count and walked.lowest >= since:
            if len(self._known) >= _MOST:
                self._known.clear()
            places = [number - since for number in walked]
            self._known[key] = WalkedNodes(places), leaves

    def _key_of(
        self, roots: list[Any], site: RawSite | None, notes: list[Noted]
    ) -> tuple[Any, ...] | None:
        since, parts = self._since, [site and site[1]]
        for noted in notes:
            what, made = noted[2], noted[4]
            if type(what) is tuple:
                given: Sequence[Glance] = what[5]
                parts += what[0], made[0] - since, len(made), len(given)
            elif what is None:
                return None  # of a Function
            else:
                given, held, _ = noted[_SEEN]
                parts += what, made - since, held.numbers
            for glance in given:
                node = glance[NODE]
                if node is None:
                    parts += glance[SHAPE], glance[NEEDS] and -glance[0]
                elif node > since:
                    parts += glance[SHAPE], node - since
                else:
                    return None  # made before the last pass
        if None in roots:
            return None
        for fn in roots:
            parts.append(fn._sequence_nr() - since)
        return tuple(parts)
