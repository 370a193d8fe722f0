"""Questions about the dependence graph of a run."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from gradviz.dependence.build import SURE, Builder, Kind
from gradviz.dependence.cuts import Kind as Reason
from gradviz.dependence.cuts import reason_of
from gradviz.program import Backward, Call, Event, History, RawSite, Value

_MANY = 100  # ways; more are not counted
_KEPT = 8  # roots whose slices are kept for the next question
_MOST_GATES = 6  # places of which it is asked whether every way passes them


@dataclass(frozen=True, slots=True)
class Edge:
    """One value that influenced another; both are vertices."""

    source: int
    target: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class Gate:
    """A place where influence goes on and the gradient does not."""

    call: Event  # what let the value through
    operand: Value  # what still had a graph
    reason: Reason
    place: RawSite | None  # of the call, or where gradients were switched off
    every: bool  # whether all ways from the parameter to the root pass it
    near: bool  # whether the gradient would come as far as this from the parameter


@dataclass(frozen=True, slots=True)
class Slice:
    """What lies between a leaf and the root of a pass."""

    start: int
    root: int
    between: tuple[int, ...]  # vertices, in order, both ends among them
    learning: frozenset[int]  # those to which only gradient edges lead
    tier: int  # the kinds of edges that had to be followed


class Dependence:
    """Which value was made of which in a run, and how; the same for every engine.

    A vertex is a tensor at a version, or a number that came from tensors. Vertices
    are numbered in the order of time. Every query is linear in the part of the run
    between the things that it is about.

    >>> import gradtape as torch, gradviz
    >>> from gradviz._capture.open_log import open_log
    >>> from gradviz.program import History
    >>> w = torch.ones(2, requires_grad=True)
    >>> with open_log("gradtape") as log:
    ...     (w * 2).detach().sum()
    tensor(4.)
    >>> graph = History(log.program).once(Dependence)
    >>> [kind.name for *_, kind in map(graph.parts, graph.edges())]
    ['GRADIENT', 'CUT', 'VALUE']
    """

    def __init__(self, history: History) -> None:
        self.history = history
        self._columns = Builder(history).build()
        self.visited = 0  # vertices that queries looked at, to bound their number by
        self._roots: dict[tuple[int, int], list[int]] = {}
        self._ways: dict[int, dict[int, int]] = {}

    # ---- vertices and edges --------------------------------------------------------

    def __len__(self) -> int:
        return len(self._columns.values)

    def value(self, vertex: int) -> Value | None:
        """Return the tensor of a vertex; None where it is a number."""
        return self._columns.values[vertex]

    def maker(self, vertex: int) -> Event | None:
        """Return the event that made a vertex; None where it was there before."""
        return self._columns.makers[vertex]

    def made_by(self, event: Event) -> list[int]:
        """Return the vertices that an event made."""
        return self._columns.made.get(event.index, [])

    def vertices(self, tensor: int) -> list[int]:
        """Return the vertices of a tensor: its values, one for each version."""
        return self._columns.of_tensor.get(tensor, [])

    @cached_property
    def _of_nodes(self) -> dict[int, int]:
        values = [each for each in self._columns.values if each is not None]
        return {each.node: each.tensor for each in values if each.node is not None}

    def tensor_of(self, node: int) -> int | None:
        """Return the last tensor that a backward function gave; of a leaf's, that."""
        known = self.history.node(node)
        leaf = None if known is None else known.leaf
        return self._of_nodes.get(node) if leaf is None else leaf

    def roots(self, backward: Backward) -> list[int]:
        """Return the vertices of the roots of a pass."""
        return self._columns.roots.get(backward.index, [])

    def sources(self, vertex: int) -> Iterator[Edge]:
        """Yield the edges into a vertex."""
        columns = self._columns
        for place in range(columns.first[vertex], columns.first[vertex + 1]):
            yield Edge(columns.sources[place], vertex, Kind(columns.kinds[place]))

    def edges(self) -> Iterator[Edge]:
        """Yield all edges, by target."""
        for vertex in range(len(self)):
            yield from self.sources(vertex)

    @staticmethod
    def parts(edge: Edge) -> tuple[int, int, Kind]:
        """Return source, target and kind of an edge."""
        return edge.source, edge.target, edge.kind

    # ---- slices --------------------------------------------------------------------

    def behind(self, ends: Iterable[int], kinds: int = SURE) -> set[int]:
        """Return the vertices that influenced some, themselves among them."""
        columns = self._columns
        first, sources, marks = columns.first, columns.sources, columns.kinds
        waiting, found = list(ends), set[int]()
        while waiting:
            vertex = waiting.pop()
            if vertex not in found:
                found.add(vertex)
                for place in range(first[vertex], first[vertex + 1]):
                    if marks[place] & kinds:
                        waiting.append(sources[place])
        self.visited += len(found)
        return found

    def ahead(
        self,
        start: Iterable[int],
        kinds: int = SURE,
        within: Sequence[int] | None = None,
        but: frozenset[int] = frozenset(),
    ) -> set[int]:
        """Return the vertices that some influenced, themselves among them.

        ``within`` are the vertices to look at, in order; ``but`` those to leave out.
        """
        columns = self._columns
        first, sources, marks = columns.first, columns.sources, columns.kinds
        found = set(start) - but
        begin = min(found, default=len(self))
        order = range(begin, len(self)) if within is None else within
        self.visited += len(order)
        for vertex in order:
            if vertex <= begin or vertex in but:
                continue
            for place in range(first[vertex], first[vertex + 1]):
                if marks[place] & kinds and sources[place] in found:
                    found.add(vertex)
                    break
        return found

    def influences(self, a: int, b: int, kinds: int = SURE) -> bool:
        """Tell whether a vertex influenced a later one."""
        return a in self.behind([b], kinds)

    def _behind_root(self, root: int, kinds: int) -> list[int]:
        """Return what influenced a root, in order; the last few roots are kept."""
        known = self._roots.get((root, kinds))
        if known is None:
            if len(self._roots) > _KEPT:
                self._roots.clear()
            known = self._roots[root, kinds] = sorted(self.behind([root], kinds))
        return known

    def slice(self, tensor: int, root: int) -> Slice | None:
        """Return what lies between a leaf, as it was last read, and a root.

        The ways that are sure come first; only where there is none, those through
        Python and NumPy count, and then those that decided about a branch.
        """
        tiers = SURE, SURE | Kind.GUESS, SURE | Kind.GUESS | Kind.CONTROL
        for kinds in tiers:
            behind = self._behind_root(root, kinds)
            starts = [each for each in self.vertices(tensor) if _is_in(behind, each)]
            if starts:
                start = starts[-1]
                order = behind[bisect_left(behind, start) :]
                found = self.ahead([start], kinds, order)
                learning = self.ahead([start], Kind.GRADIENT, order)
                between = tuple(each for each in order if each in found)
                return Slice(start, root, between, frozenset(learning), kinds)
        return None

    def gradient_paths(self, tensor: int, root: int) -> int:
        """Return on how many ways a leaf's gradient comes from a root; 100 for more."""
        ways = self._ways_from(root)
        starts = [ways[each] for each in self.vertices(tensor) if each in ways]
        return min(_MANY, starts[-1]) if starts else 0

    def _ways_from(self, root: int) -> dict[int, int]:
        """Return for each vertex on how many ways the gradient of a root gets there."""
        if root not in self._ways:
            if len(self._ways) > _KEPT:
                self._ways.clear()
            behind = self.behind([root], Kind.GRADIENT)
            ways = dict.fromkeys(behind, 0) | {root: 1}
            for vertex in sorted(behind, reverse=True):
                for edge in self.sources(vertex):
                    if edge.kind is Kind.GRADIENT:
                        more = ways[edge.source] + ways[vertex]
                        ways[edge.source] = min(_MANY, more)
            self._ways[root] = ways
        return self._ways[root]

    def ways(self, found: Slice) -> int:
        """Return on how many ways the start of a slice leads to its root."""
        ways = {found.start: 1}
        for vertex in found.between[1:]:
            ways[vertex] = min(
                _MANY,
                sum(
                    ways.get(edge.source, 0)
                    for edge in self.sources(vertex)
                    if edge.kind & found.tier
                ),
            )
        return ways[found.root]

    def way(self, found: Slice, to: int) -> list[int]:
        """Return a shortest way from the start of a slice to a vertex of it."""
        inside, before = set(found.between), {found.start: found.start}
        far = {found.start: 0}
        for vertex in found.between[1:]:
            near = [
                edge.source
                for edge in self.sources(vertex)
                if edge.kind & found.tier
                and edge.source in inside
                and edge.source in far
            ]
            if near:
                before[vertex] = min(near, key=lambda each: (far[each], each))
                far[vertex] = far[before[vertex]] + 1
            if vertex == to:
                break
        way = [to]
        while way[-1] != found.start and way[-1] in before:
            way.append(before[way[-1]])
        return way[::-1]

    # ---- gates ---------------------------------------------------------------------

    def gates(self, tensor: int, root: int) -> list[Gate]:
        """Return where the gradient of a root is lost on its ways to a leaf.

        In the order of time, one for each place.
        """
        found = self.slice(tensor, root)
        return [] if found is None else self.gates_of(found)

    def gates_of(self, found: Slice) -> list[Gate]:
        """Return the gates of a slice."""
        inside = set(found.between)
        places: dict[object, list[tuple[Edge, tuple[Reason, RawSite | None]]]] = {}
        for vertex in found.between:
            event = self.maker(vertex)
            if event is None:
                continue
            for edge in self.sources(vertex):
                if edge.kind is Kind.CUT and edge.source in inside:
                    reason = self._reason(event, vertex)
                    places.setdefault(reason[1], []).append((edge, reason))
        gates: list[Gate] = []
        for place, edges in places.items():
            edge, (reason, site) = edges[0]
            event, operand = self.maker(edge.target), self.value(edge.source)
            assert event is not None
            assert operand is not None
            closed = frozenset(each.target for each, _ in edges)
            every = len(gates) < _MOST_GATES and self._is_only_way(found, closed)
            near = any(each.source in found.learning for each, _ in edges)
            gates.append(Gate(event, operand, reason, site, every, near))
            del place
        return gates

    def _is_only_way(self, found: Slice, closed: frozenset[int]) -> bool:
        left = self.ahead([found.start], found.tier, found.between, closed)
        return found.root not in left

    def _reason(self, event: Event, vertex: int) -> tuple[Reason, RawSite | None]:
        if not isinstance(event, Call):
            return "grad", event.site
        return reason_of(self.history, event)

    # ---- memory --------------------------------------------------------------------

    @cached_property
    def _readers(self) -> dict[int, list[Call]]:
        found: dict[int, list[Call]] = defaultdict(list)
        for call in self.history.calls:
            for storage in {each.storage for each in call.inputs}:
                found[storage].append(call)
        return found

    def readers_after(self, storage: int, index: int) -> list[Call]:
        """Return the calls behind an event that read a block of memory, in order."""
        rows = self._readers.get(storage, [])
        return rows[bisect_left(rows, index + 1, key=lambda each: each.index) :]

    def written_between(self, storage: int, save: int, use: int) -> list[Call]:
        """Return the calls that wrote a block of memory between two events."""
        return [call for call, _ in self.history.writes(storage, save, use)]

    @cached_property
    def _sharing(self) -> dict[int, dict[int, Value]]:
        found: dict[int, dict[int, Value]] = defaultdict(dict)
        for value in self._columns.values:
            if value is not None:
                found[value.storage][value.tensor] = value
        return found

    def aliases(self, value: Value) -> list[Value]:
        """Return the other tensors that looked into the same memory."""
        sharing = self._sharing.get(value.storage, {})
        return [each for key, each in sharing.items() if key != value.tensor]

    # ---- numbers and ends -----------------------------------------------------------

    def ends(self, start: Iterable[int]) -> list[int]:
        """Return what some vertices led to and nobody read any more, in order."""
        reached = self.ahead(start, SURE | Kind.GUESS)
        return sorted(each for each in reached if each in self._unread)

    @cached_property
    def _unread(self) -> set[int]:
        columns = self._columns
        read = set(columns.sources)
        for each in columns.roots.values():
            read.update(each)
        return set(range(len(self))) - read

    def holders(self, value: Value) -> list[str]:
        """Return what keeps a tensor or its memory alive at the end of the run."""
        program, held = self.history.program, list[str]()
        facts = program.tensors.get(value.tensor)
        if facts is not None and facts.name and facts.alive:
            held.append(f"the variable `{facts.name}`")
        for root in program.live:
            if root.value.storage == value.storage:
                held += [f"the variable `{each}`" for each in root.holders]
        for node in program.nodes.values():
            for saved in node.saved:
                kept = not saved.freed and node.freed_by is None
                if kept and saved.value.storage == value.storage:
                    where = self.history.line(node.site)
                    held.append(f"`{saved.slot}` of {node.name} ({where})")
        for other in self.aliases(value):
            facts = program.tensors.get(other.tensor)
            if facts is not None and facts.alive and facts.name:
                held.append(f"`{facts.name}`, which shares its memory")
        return list(dict.fromkeys(held))


def _is_in(ordered: Sequence[int], vertex: int) -> bool:
    place = bisect_left(ordered, vertex)
    return place < len(ordered) and ordered[place] == vertex
