"""Walks the graph of a pass before it runs: what it reaches, and what went stale.

A log that does not look at values reads nodes here for the first time, in the middle of
the user's training step. So of an ordinary node it notes a tuple, which the garbage
collector soon stops to look at, and makes the rows when someone asks for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from gradtape._debug import Collected, Node, SavedTensor, Tensor
from gradviz._capture.adapters.gradtape.saved_attributes import Slots, slots_of
from gradviz._capture.recorder.fold import Folded
from gradviz.program.values import Node as NodeRow
from gradviz.program.values import RawSite, Saved, Write

if TYPE_CHECKING:
    from gradviz._capture.adapters.gradtape.tensor_records import Met, Reader

Noted: TypeAlias = tuple[Any, ...]
"""Name, next keys, their outputs, code, instruction, shape, saved: of a NodeRow.

What was saved is slot, glance, slot, glance: the collector has few objects to look at.
"""

Stale: TypeAlias = Callable[[int, Node, Slots, tuple[Saved, ...]], None]

_MOST = 50_000

_OFTEN = 4  # graphs of one kind that are read in full

_MOST_KINDS = 1_000

_lasti_of, _number_of = attrgetter("lasti"), attrgetter("seq")


class Ahead:
    """The nodes that passes reached and that have no row yet."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._noted: dict[int, Noted] = {}
        self._packed: dict[int, tuple[Saved, ...]] = {}  # what hooks hold of a node
        self._kinds: dict[int, int] = {}  # of graphs, and how many of each were read

    def walk(
        self, roots: Sequence[Tensor], collected: Collected, check: Stale, since: int
    ) -> tuple[tuple[int, ...], tuple[int, ...], list[int]]:
        """Return the sequence numbers of a pass's nodes, its leaves, the nodes freed.

        ``check`` is called for nodes whose saved tensors do not look as they did; those
        with a sequence number above ``since`` are younger than the last write. Loops
        build the same graph again and again: the first few of a kind are read in full.
        """
        order = collected.order
        numbers, leaves = tuple(map(_number_of, order)), self._leaves(collected.waiting)
        # Freed nodes are older than the pass that freed them, which was a write too.
        young = not numbers or numbers[-1] >= since
        if young and not self._reader.eager:
            known = self._reader.detailed and self._are_noted(order)
            if known or self._is_known(collected.starts, order):
                return numbers, leaves, []
        return numbers, leaves, self._read(order, roots, check)

    def fold(
        self, folded: Folded[Node], roots: Sequence[Tensor], check: Stale
    ) -> tuple[tuple[int, ...], tuple[int, ...], list[int]]:
        """Read the rows of a graph that is too large; return what :meth:`walk` does."""
        self.finish()
        reader, rows = self._reader, self._reader.program.nodes
        met: Met = {id(root._data): reader.look(root) for root in roots}
        for node in folded.row_of:
            known = rows.get(reader.key(node))
            if known is not None:
                known.count = 0  # unless it is a row itself
        ends = [node for node in folded.row_of if node.accumulates and not node.dead]
        self._leaves([node for node in folded.rows if node.accumulates])
        keys = [reader.key(node) for node in folded.rows]
        numbers: list[int] = []
        freed: list[int] = []
        for place, (node, key) in enumerate(zip(folded.rows, keys, strict=True)):
            row = rows.get(key)
            slots = slots_of(node) if node.keeps else []
            if row is None:
                if reader.detailed:
                    reader.met_late(node, key)
                row = reader.row(node, slots, met)
            row.count = folded.counts.get(place, 1)
            if node.accumulates:
                continue
            behind = folded.behind[place]
            row.next = tuple([at and (keys[at[0]], at[1]) for at in behind])
            numbers.append(node.seq)
            if slots:
                check(key, node, slots, row.saved)
            elif node.keeps and node.saved is None:
                freed.append(key)
        reader.folded_to = max(reader.folded_to, numbers[-1])
        leaves = tuple([reader.number(end.variable) for end in ends])
        return tuple(reversed(numbers)), leaves, freed

    def _leaves(self, ends: Iterable[Node]) -> tuple[int, ...]:
        """Return the tensors that gradients are accumulated in, and see to rows."""
        numbered, rows = self._reader.tensors.rows, self._reader.program.nodes
        leaves: list[int] = []
        for end in ends:
            if not end.dead:
                variable = end.variable
                known = numbered.get(id(variable))
                if known is not None and known[0]() is variable:
                    leaf = known[1]
                else:
                    leaf = self._reader.number(variable)
                leaves.append(leaf)
                if -leaf not in rows:
                    self._reader.row(end, [], {})
        return tuple(leaves)

    def _are_noted(self, order: list[Node]) -> bool:
        """Tell whether nodes were noted when they were made, or have rows."""
        noted, rows = self._noted, self._reader.program.nodes
        for node in order:
            key = node.seq + 1
            if key not in noted and key not in rows:
                return False
        return True

    def _is_known(self, starts: list[Node], order: list[Node]) -> bool:
        """Tell whether graphs of the same ops from the same places were read before."""
        if self._reader.detailed:
            return False  # each node is shown
        code = [id(node.code) for node in starts]
        key = hash((*code, *map(type, order), *map(_lasti_of, order)))
        times = self._kinds.get(key, 0)
        room = times < _OFTEN and len(self._kinds) < _MOST_KINDS
        if room and not any(node.foreign for node in order):
            self._kinds[key] = times + 1
        return times == _OFTEN

    def _read(
        self, order: Sequence[Node], roots: Sequence[Tensor], check: Stale
    ) -> list[int]:
        """Note nodes that have no row yet; return those that were freed."""
        reader, noted = self._reader, self._noted
        met: Met = {id(root._data): reader.look(root) for root in roots}
        rows, eager = reader.program.nodes, reader.eager
        freed: list[int] = []
        for node in order:
            key = node.seq + 1
            slots = slots_of(node) if node.keeps else []
            row = rows.get(key)
            if row is None and key not in noted:
                if reader.detailed:
                    reader.met_late(node, key)
                if node.foreign or (eager and not reader.detailed):
                    row = reader.row(node, slots, met)
                else:
                    noted[key] = self._note(node, key, slots, met)
            if slots:
                if eager or not all(map(_is_fresh, slots)):
                    known = row.saved if row is not None else self._saved(noted[key])
                    check(key, node, slots, known)
            elif node.keeps and node.saved is None:
                freed.append(key)
        self._shorten()
        return freed

    def note(self, node: Node, key: int, met: Met) -> None:
        """Note a node as soon as it is made."""
        slots = slots_of(node) if node.keeps else []
        self._noted[key] = self._note(node, key, slots, met)
        if node.keeps and not slots:  # hooks may have packed all of it
            hooked = self._reader.packed(node, met)
            if hooked:
                self._packed[key] = hooked
        self._shorten()

    def _shorten(self) -> None:
        noted = self._noted
        if len(noted) > _MOST:
            for key in list(noted)[: _MOST // 2]:
                del noted[key]

    def _note(self, node: Node, key: int, slots: Slots, met: Met) -> Noted:
        reader = self._reader
        following: list[int | None] = []
        for each in node.nodes:
            if each is None or each.dead:
                following.append(None)
            elif each.accumulates:
                following.append(reader.leaf(each))
            else:  # a call for each edge of a large graph is worth saving
                following.append(each.seq + 1)
        saved: list[Any] = []
        for slot, number, entry in slots:
            saved += (slot, reader.kept(entry, number, key, met))
        layout = node.layout
        if layout is None:
            layout = node.several[0] if node.several else None
        shape = None if layout is None else layout.shape
        name = type(node).__name__
        edges = tuple(following)
        return name, edges, node.numbers, node.code, node.lasti, shape, tuple(saved)

    def finish(self, keys: Iterable[int] | None = None) -> None:
        """Make the rows of nodes that were noted: of all, or of some."""
        reader, waiting = self._reader, self._noted
        for key in list(waiting) if keys is None else keys:
            noted = waiting.pop(key, None)
            if noted is None or key in reader.program.nodes:
                continue
            name, following, numbers, code, lasti, shape, _ = noted
            edges = zip(following, numbers, strict=True)
            row = reader.program.nodes[key] = NodeRow(
                key,
                name,
                next=tuple([at and (at, number) for at, number in edges]),
                saved=(*self._saved(noted), *self._packed.pop(key, ())),
                site=None if code is None else (code, lasti),
                shape=shape,
                sequence=key - 1,
            )
            reader.assign(row)

    def _saved(self, noted: Noted) -> tuple[Saved, ...]:
        flat, value = noted[6], self._reader.program.value
        pairs = zip(flat[::2], flat[1::2], strict=True)
        return tuple([Saved(slot, value(glance)) for slot, glance in pairs])


def _is_fresh(slot: tuple[str, int | None, SavedTensor]) -> bool:
    entry = slot[2]
    memory = entry.memory
    if memory is None:
        memory = entry.tensor._memory if entry.tensor is not None else None
    return memory is None or memory.inference or memory.version == entry.version


def unseen_writes(
    reader: Reader, starts: Iterable[Node], logged: set[tuple[int, int]]
) -> list[tuple[str, RawSite | None, Write]]:
    """Return writes to saved memory that only the engine's own record tells of.

    ``logged`` has storage and version of those that the log has. Each comes with its op
    and the user's line.
    """
    found: dict[tuple[int, int], tuple[str, RawSite | None, Write]] = {}
    waiting = list(starts)
    seen: set[Node] = set()
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        waiting += [each for each in node.nodes if each is not None]
        for slot in [each for each in slots_of(node) if not _is_fresh(each)]:
            entry = slot[2]
            (saved,) = reader.saved([slot], reader.key(node), {})
            for op, site, version in entry.storage.writes:
                key = saved.value.storage, version
                if version > entry.version and key not in logged:
                    write = Write(key[0], version - 1, version, saved.value)
                    found[key] = op, site, write
    return [found[key] for key in sorted(found)]
