"""What parts of a graph reach, and how much of a gradient went through each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property

from gradviz.program import Backward, History, Node, Summary

Edge = tuple[int, int]
"""A node and one of its outputs."""

Given = list[tuple[int, Summary | None]]
"""Nodes, each with what it gave."""


class Reach:
    """Parts of the graph of a pass, each begun at some edges, with what lies below.

    One walk serves all parts: every node keeps as bits the parts that reach it.
    """

    def __init__(
        self,
        history: History,
        backward: Backward,
        roots: Iterable[int],
        parts: Mapping[object, set[Edge]],
    ) -> None:
        self.history = history
        self.backward = backward
        self.parts = parts
        self._bits = {part: 1 << place for place, part in enumerate(parts)}
        nodes = history.program.nodes
        starts = [key for edges in parts.values() for key, _ in edges]
        self._order = _behind_first(nodes, [*roots, *starts])[::-1]
        self._masks = self._marked(set())

    def _marked(self, closed: set[tuple[int, int]]) -> dict[int, int]:
        """Return for each node the parts that reach it, as bits.

        Nothing goes through what is closed: a node, and a place of its inputs.
        """
        nodes = self.history.program.nodes
        masks: dict[int, int] = defaultdict(int)
        for part, edges in self.parts.items():
            for key, _ in edges:
                masks[key] |= self._bits[part]
        for key in self._order:
            for place, edge in enumerate(nodes[key].next):
                if edge is not None and (key, place) not in closed:
                    masks[edge[0]] |= masks[key]
        return masks

    def leaves(self, part: object) -> set[int]:
        """Return the leaves that a part reaches; none of one without a graph."""
        return self._leaves_of(self._masks, part)

    def moved(self, part: object) -> set[int] | None:
        """Return the leaves that anything but zeros came to; None: not measured."""
        return self._leaves_of(self._open, part) if self.backward.runs else None

    def _leaves_of(self, masks: Mapping[int, int], part: object) -> set[int]:
        found = (each.leaf for each in self._nodes_of(masks, part))
        return {leaf for leaf in found if leaf is not None}

    def nodes(self, part: object) -> list[Node]:
        """Return the nodes of a part and below it, each before all that lies below."""
        return self._nodes_of(self._masks, part)

    def _nodes_of(self, masks: Mapping[int, int], part: object) -> list[Node]:
        nodes, bit = self.history.program.nodes, self._bits.get(part, 0)
        return [nodes[key] for key in self._order if masks.get(key, 0) & bit]

    @cached_property
    def _open(self) -> dict[int, int]:
        """As bits the parts from which a gradient that is not 0 came to each node."""
        closed = {
            (run.node, place)
            for run in self.backward.runs
            for place, given in enumerate(run.outgoing)
            if given is not None and given.zeros == given.count
        }
        return self._marked(closed)

    @cached_property
    def _flows(self) -> dict[Edge, Given]:
        """What each edge was given, and by which node."""
        found: dict[Edge, Given] = defaultdict(list)
        for run in self.backward.runs:
            node = self.history.node(run.node)
            for edge, given in zip(
                node.next if node else (), run.outgoing, strict=False
            ):
                if edge is not None:
                    found[edge].append((run.node, given))
        return found

    @cached_property
    def _incoming(self) -> dict[int, tuple[Summary | None, ...]]:
        return {run.node: run.incoming for run in self.backward.runs}

    def arrived(self, part: object) -> float | None:
        """Return the norm of what came to where a part begins; None: not measured."""
        squares = 0.0
        for key, output in self.parts.get(part, ()):
            incoming = self._incoming.get(key, ())
            came = incoming[output] if output < len(incoming) else None
            if came is None or came.norm is None:
                return None
            squares += came.norm**2
        return squares**0.5 if part in self.parts else None

    def gives(self, part: object) -> bool | None:
        """Tell whether anything but zeros left what belongs to a part alone."""
        bit, measured = self._bits.get(part, 0), False
        if not bit:
            return False
        for (key, _), given in self._flows.items():
            node = self.history.node(key)
            if node is None or (node.leaf is None and self._masks[key] == bit):
                continue
            for giver, summary in given:
                if self._masks[giver] != bit:
                    continue
                if summary is None or summary.zeros < summary.count:
                    return None if summary is None else True
                measured = True
        return False if measured else None

    def share(self, part: object, leaf: int) -> float | None:
        """Return the norm that a part gave a leaf over the sum of all parts' norms.

        Where parts share the way to the leaf: of what they gave `meeting`.
        """
        mine, total, bit = 0.0, 0.0, self._bits.get(part, 0)
        met = 0
        for giver, summary in self._meeting(leaf)[1]:
            mask = self._masks[giver]
            if (
                summary is None
                or summary.norm is None
                or mask & (mask - 1)
                or met & mask
            ):
                return None  # shared, or given twice: norms do not add up
            met |= mask
            total += summary.norm
            mine += summary.norm if mask == bit else 0.0
        return mine / total if total else None

    def meeting(self, leaf: int) -> Edge | None:
        """Return where the parts' gradients were added up; None: at the leaf itself."""
        return self._meeting(leaf)[0]

    def _meeting(self, leaf: int) -> tuple[Edge | None, Given]:
        """Go up from a leaf as long as one node alone gave all that came.

        Only while it holds several parts and has one output: they met above it.
        """
        edge, given = None, self._into_leaf.get(leaf, [])
        seen = set[int]()
        while len(given) == 1:
            giver = given[0][0]
            mask = self._masks[giver]
            above = [e for e in self._edges_of.get(giver, ()) if self._flows[e]]
            if not mask & (mask - 1) or giver in seen or len(above) != 1:
                break
            seen.add(giver)
            edge, given = above[0], self._flows[above[0]]
        return edge, given

    @cached_property
    def _edges_of(self) -> dict[int, list[Edge]]:
        found: dict[int, list[Edge]] = defaultdict(list)
        for edge in self._flows:
            found[edge[0]].append(edge)
        return found

    @cached_property
    def _into_leaf(self) -> dict[int, Given]:
        found: dict[int, Given] = {}
        for (key, _), given in self._flows.items():
            node = self.history.node(key)
            if node is not None and node.leaf is not None:
                found[node.leaf] = given
        return found


def _behind_first(nodes: Mapping[int, Node], roots: Iterable[int]) -> list[int]:
    """Return the nodes below some, each after all that lies below it."""
    found: list[int] = []
    met = set[int]()
    waiting = [(root, False) for root in roots]
    while waiting:
        key, is_done = waiting.pop()
        if is_done:
            found.append(key)
        elif key not in met and key in nodes:
            met.add(key)
            waiting.append((key, True))
            waiting += [(e[0], False) for e in nodes[key].next if e is not None]
    return found
