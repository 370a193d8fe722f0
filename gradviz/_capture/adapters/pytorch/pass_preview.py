"""Looks at the graph of a pass that is about to run, where a loop builds it anew.

Reading a graph of PyTorch in full costs as much as the pass itself. So a log that does
not look at values reads the first few of a kind; for the others it lists the nodes. If
something that they saved was overwritten, PyTorch itself says so by failing, and what
is left then is read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from gradviz._capture.adapters.pytorch.pass_cache import PassCache, WalkedNodes
from gradviz._capture.adapters.pytorch.saved_attributes import NO_SEQUENCE
from gradviz._capture.recorder import fold
from gradviz.program.events import Backward
from gradviz.program.values import RawSite

if TYPE_CHECKING:
    from gradviz._capture.adapters.pytorch.graph.producers import Producers
    from gradviz.program.log import Identities

MOST_NODES = 20_000  # of one backward pass that its event lists

_FEW = 4  # graphs of a kind that are read, where no pass is looked at in full
_MOST_KINDS = 10_000  # of graphs that are counted


PreviewedPass: TypeAlias = tuple[WalkedNodes, tuple[int, ...]]
"""Sequence numbers of the nodes that a pass walks, a root's first; tensors: leaves."""


class PassPreview:
    """What is known of nodes without having read them."""

    def __init__(self, torch: Any, tensors: Identities) -> None:
        self._number = tensors.of
        self._leaf_class = torch._C._functions.AccumulateGrad
        self._cache = PassCache(torch)
        self.few = _FEW
        self._passes = 0
        self._kinds: dict[int, int] = {}  # of graphs, and how many came by
        # Made by calls that we saw, and no hook packed: from the first to the last key.
        self._begins: list[int] = []
        self.ends: list[int] = []
        self._out_of_order: set[int] = set()  # the same, where they came out of order
        self._spent = _NumberSet()  # that a pass has freed
        self.freed = self._spent.add
        self._walked = _NumberSet()  # that a quick look has been at

    def made(self, first: int, last: int) -> None:
        """Learn of nodes that need no closer look, one after the other."""
        ends = self.ends
        if ends and first == ends[-1] + 1:
            ends[-1] = last
        elif not ends or first > ends[-1]:
            self._begins.append(first)
            ends.append(last)
        else:
            self._out_of_order.update(range(first, last + 1))

    def has_walked(self, key: int) -> bool:
        """Whether a quick look has been at a node."""
        return self._walked.holds_any((key - 1,))

    def forget(self, keys: Sequence[int]) -> None:
        """Forget nodes, the oldest there are."""
        self._out_of_order.difference_update(keys)
        for each in (self._spent, self._walked):
            each.remove([key - 1 for key in keys])
        while keys and self.ends and self._begins[0] <= max(keys):
            last = self.ends.pop(0)
            self._begins.pop(0)
            if last > max(keys):
                self._begins.insert(0, max(keys) + 1)
                self.ends.insert(0, last)

    def look(
        self, roots: list[Any], site: RawSite | None, producers: Producers
    ) -> PreviewedPass | None:
        """Return what a pass walks; None where that is to be read in full."""
        ahead = self._look(roots, site, producers)
        self._cache.passed()
        if ahead is not None:
            self._walked.add(ahead[0])
        return ahead

    def _look(
        self, roots: list[Any], site: RawSite | None, producers: Producers
    ) -> PreviewedPass | None:
        self._passes += 1
        if not self._passes & (self._passes - 1):
            return None  # now and then
        known = self._cache.find(roots, site, producers.since_pass())
        if known is not None:
            return known  # sound, as the one was that the same calls made
        producers.settle()
        found, leaves = self._walk(roots)
        if len(found) + len(leaves) > fold.MOST_DRAWN:
            return None  # it is folded, and made such that it can be freed
        walked = WalkedNodes(tuple(found))
        if not self._are_sound(walked) or not self._was_read_before(found, site):
            return None
        self._cache.learn(walked, leaves)
        return walked, leaves

    def _walk(self, roots: list[Any]) -> tuple[dict[int, type], tuple[int, ...]]:
        """Return the classes of all nodes behind these by sequence number; leaves."""
        leaf_class, found = self._leaf_class, dict[int, type]()
        leaves: list[Any] = []
        waiting = [fn for fn in roots if fn is not None]
        while waiting:
            fn = waiting.pop()
            kind = type(fn)
            if kind is leaf_class:
                leaves.append(fn.variable)
                continue
            sequence = fn._sequence_nr()
            if sequence in found or sequence == NO_SEQUENCE:
                continue
            found[sequence] = kind
            for behind, _ in fn.next_functions:
                if behind is not None:
                    waiting.append(behind)
        return found, tuple(dict.fromkeys(map(self._number, leaves)))

    def _are_sound(self, walked: WalkedNodes) -> bool:
        """Tell whether calls that we saw made all these, and no pass has freed one."""
        if not walked.count:
            return True
        low, high = walked.lowest, walked.highest
        if low <= self._spent.highest and self._spent.holds_any(walked):
            return False
        at = bisect_right(self._begins, low + 1) - 1
        if at >= 0 and high < self.ends[at]:
            return True
        return all(map(self._is_sound, [number + 1 for number in walked]))

    def _is_sound(self, key: int) -> bool:
        at = bisect_right(self._begins, key) - 1
        return key in self._out_of_order or (at >= 0 and key <= self.ends[at])

    def _was_read_before(self, found: dict[int, type], site: RawSite | None) -> bool:
        """Tell whether graphs of the same nodes and place were read before."""
        key = hash((site and site[1], *found.values()))
        if len(self._kinds) > _MOST_KINDS:
            self._kinds.clear()
        times = self._kinds[key] = self._kinds.get(key, 0) + 1
        return times > self.few


class _NumberSet:
    """A set of numbers that is put together when it is asked; lists come often."""

    def __init__(self) -> None:
        self._new: list[WalkedNodes] = []
        self._all: set[int] = set()
        self.highest = 0

    def add(self, walked: WalkedNodes) -> None:
        """Take in numbers."""
        self._new.append(walked)
        if walked.highest > self.highest:
            self.highest = walked.highest

    def remove(self, numbers: Iterable[int]) -> None:
        """Leave out numbers."""
        self._settle()
        self._all.difference_update(numbers)

    def holds_any(self, numbers: Iterable[int]) -> bool:
        """Whether one of these is in here."""
        self._settle()
        return not self._all.isdisjoint(numbers)

    def _settle(self) -> None:
        self._all.update(*self._new)
        self._new.clear()


def list_nodes(event: Backward, found: dict[int, Any]) -> None:
    """Tell the event of a pass which nodes it is about to walk."""
    event.node_count = len(found)
    event.nodes = tuple(found) if len(found) <= MOST_NODES else ()
    event.leaves = tuple([-key for key in found if key < 0])
