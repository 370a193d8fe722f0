"""Looks at the graph of a pass that is about to run, where a loop builds it anew.

Reading a graph of PyTorch in full costs as much as the pass itself. So a log that does
not look at values reads the first few of a kind; for the others it lists the nodes. If
something that they saved was overwritten, PyTorch itself says so by failing, and what
is left then is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gradviz._capture._torch_slots import NO_SEQUENCE
from gradviz.program.events import Backward

MOST_NODES = 20_000  # of one backward pass that its event lists

_FEW = 4  # graphs of a kind that are read


class TorchAhead:
    """What is known of nodes without having read them."""

    def __init__(self, key_of: Callable[[Any], int]) -> None:
        self._key_of = key_of
        self._passes = 0
        self._kinds: dict[int, int] = {}  # of graphs, and how many came by
        self._sound: set[int] = set()  # made by calls that we saw, and no hook packed
        self._spent: set[int] = set()  # that a pass has freed
        self.walked: set[int] = set()  # that a quick look has been at

    def made(self, nodes: Iterable[int]) -> None:
        """Learn of nodes that need no closer look."""
        self._sound.update(nodes)

    def freed(self, nodes: Iterable[int]) -> None:
        """Learn of nodes that a pass has freed."""
        self._spent.update(nodes)

    def forget(self, key: int) -> None:
        """Forget a node."""
        self._sound.discard(key)
        self._spent.discard(key)
        self.walked.discard(key)

    def look(self, roots: list[Any], event: Backward) -> dict[int, Any] | None:
        """Return the nodes of a pass by key; None where they are to be read in full."""
        self._passes += 1
        if not self._passes & (self._passes - 1):
            return None  # now and then
        looked = self._walk(roots)
        if looked is None or not self._is_usual(looked[1], event):
            return None
        self.walked.update(looked[0])
        list_nodes(event, looked[0])
        return looked[0]

    def _walk(self, roots: list[Any]) -> tuple[dict[int, Any], list[type]] | None:
        """Return all nodes behind these by key, and their classes in order."""
        sound, spent = self._sound, self._spent
        found: dict[int, Any] = {}
        kinds: list[type] = []
        waiting = [fn for fn in roots if fn is not None]
        while waiting:
            fn = waiting.pop()
            key = fn._sequence_nr() + 1
            if key > NO_SEQUENCE:
                found[self._key_of(fn)] = fn
                continue
            if key in found:
                continue
            if key not in sound or key in spent:
                return None
            found[key] = fn
            kinds.append(type(fn))
            for behind, _ in fn.next_functions:
                if behind is not None:
                    waiting.append(behind)
        return found, kinds

    def _is_usual(self, kinds: list[type], event: Backward) -> bool:
        """Tell whether graphs of the same nodes and place were read before."""
        key = hash((event.site and event.site[1], *kinds))
        times = self._kinds[key] = self._kinds.get(key, 0) + 1
        return times > _FEW


def list_nodes(event: Backward, found: dict[int, Any]) -> None:
    """Tell the event of a pass which nodes it is about to walk."""
    event.node_count = len(found)
    event.nodes = tuple(found) if len(found) <= MOST_NODES else ()
    event.leaves = tuple([-key for key in found if key < 0])
