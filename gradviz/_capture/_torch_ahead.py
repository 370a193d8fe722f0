"""Looks at the graph of a pass that is about to run, where a loop builds it anew.

Reading a graph of PyTorch in full costs as much as the pass itself. So a log that does
not look at values reads the first few of a kind; for the others it lists the nodes. If
something that they saved was overwritten, PyTorch itself says so by failing, and what
is left then is read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gradviz._capture._torch_slots import NO_SEQUENCE
from gradviz.program.events import Backward

MOST_NODES = 20_000  # of one backward pass that its event lists

_FEW = 4  # graphs of a kind that are read


class TorchAhead:
    """What is known of nodes without having read them."""

    def __init__(self, number: Callable[[Any], int]) -> None:
        self._number = number  # of a tensor
        self._passes = 0
        self._kinds: dict[int, int] = {}  # of graphs, and how many came by
        # Made by calls that we saw, and no hook packed: from the first to the last key.
        self._begins: list[int] = []
        self._ends: list[int] = []
        self._odd: set[int] = set()  # the same, where they came out of order
        self._spent = _Lists()  # that a pass has freed
        self._walked = _Lists()  # that a quick look has been at

    def made(self, nodes: Sequence[int]) -> None:
        """Learn of nodes that need no closer look, one after the other."""
        ends = self._ends
        if ends and nodes[0] == ends[-1] + 1:
            ends[-1] = nodes[-1]
        elif not ends or nodes[0] > ends[-1]:
            self._begins.append(nodes[0])
            ends.append(nodes[-1])
        else:
            self._odd.update(nodes)

    def freed(self, nodes: Sequence[int]) -> None:
        """Learn of nodes that a pass has freed."""
        self._spent.add(nodes)

    def has_walked(self, key: int) -> bool:
        """Whether a quick look has been at a node."""
        return self._walked.holds_any((key,))

    def forget(self, keys: Sequence[int]) -> None:
        """Forget nodes, the oldest there are."""
        self._odd.difference_update(keys)
        self._spent.remove(keys)
        self._walked.remove(keys)
        while keys and self._ends and self._begins[0] <= max(keys):
            last = self._ends.pop(0)
            self._begins.pop(0)
            if last > max(keys):
                self._begins.insert(0, max(keys) + 1)
                self._ends.insert(0, last)

    def look(self, roots: list[Any], event: Backward) -> dict[int, Any] | None:
        """Return the nodes of a pass by key; None where they are to be read in full."""
        self._passes += 1
        if not self._passes & (self._passes - 1):
            return None  # now and then
        found, made, kinds = self._walk(roots)
        if not self._are_sound(made) or not self._is_usual(kinds, event):
            return None
        list_nodes(event, found)
        self._walked.add(event.nodes or tuple(found))
        return found

    def _walk(self, roots: list[Any]) -> tuple[dict[int, Any], list[int], list[type]]:
        """Return all nodes behind these by key; those of calls, and their classes."""
        number = self._number
        found: dict[int, Any] = {}
        made: list[int] = []
        kinds: list[type] = []
        waiting = [fn for fn in roots if fn is not None]
        while waiting:
            fn = waiting.pop()
            key = fn._sequence_nr() + 1
            if key > NO_SEQUENCE:
                leaf = getattr(fn, "variable", None)
                found[0 if leaf is None else -number(leaf)] = fn
            elif key not in found:
                found[key] = fn
                made.append(key)
                kinds.append(type(fn))
                for behind, _ in fn.next_functions:
                    if behind is not None:
                        waiting.append(behind)
        return found, made, kinds

    def _are_sound(self, made: list[int]) -> bool:
        """Tell whether calls that we saw made all these, and no pass has freed one."""
        if not made:
            return True
        low, high = min(made), max(made)
        if low <= self._spent.highest and self._spent.holds_any(made):
            return False
        at = bisect_right(self._begins, low) - 1
        if at >= 0 and high <= self._ends[at]:
            return True
        return all(map(self._is_sound, made))

    def _is_sound(self, key: int) -> bool:
        at = bisect_right(self._begins, key) - 1
        return key in self._odd or (at >= 0 and key <= self._ends[at])

    def _is_usual(self, kinds: list[type], event: Backward) -> bool:
        """Tell whether graphs of the same nodes and place were read before."""
        key = hash((event.site and event.site[1], *kinds))
        times = self._kinds[key] = self._kinds.get(key, 0) + 1
        return times > _FEW


class _Lists:
    """A set of numbers that is put together when it is asked; lists come often."""

    def __init__(self) -> None:
        self._new: list[Sequence[int]] = []
        self._all: set[int] = set()
        self.highest = 0

    def add(self, numbers: Sequence[int]) -> None:
        """Take in numbers."""
        if numbers:
            self._new.append(numbers)
            self.highest = max(self.highest, *numbers)

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
