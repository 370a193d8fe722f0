"""Reads PyTorch's graph: nodes, what they saved, and whether it is still good."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gradviz._capture.adapters.pytorch.graph.folding import folded_graph
from gradviz._capture.adapters.pytorch.graph.producers import Producers
from gradviz._capture.adapters.pytorch.graph.tensor_table import output_key
from gradviz._capture.adapters.pytorch.isolation import unheard
from gradviz._capture.adapters.pytorch.limitations import OTHER_THREADS
from gradviz._capture.adapters.pytorch.op_facts import custom_function, shape_of
from gradviz._capture.adapters.pytorch.pass_cache import WalkedNodes
from gradviz._capture.adapters.pytorch.pass_preview import (
    PassPreview,
    PreviewedPass,
    list_nodes,
)
from gradviz._capture.adapters.pytorch.saved_attributes import (
    NO_SEQUENCE,
    hook_name,
    is_hooked,
    saved_slots,
    unpacks,
)
from gradviz._capture.adapters.pytorch.view_strides import view_arguments
from gradviz._capture.names.tensors import grad_fn_of
from gradviz._capture.recorder.fold import Folded
from gradviz.program.events import Backward
from gradviz.program.values import Node, RawSite, Saved, StaleSaved, Value

if TYPE_CHECKING:
    from gradviz._capture.adapters.pytorch.context import TorchContext

_MOST_LIVING = 2_000  # tensors whose graphs are read at the end
_FEW = 4  # outputs of a node that it may have saved

_VERSIONS = re.compile(r"is at version (\d+); expected version (\d+)")


class TorchGraph:
    """Reads each node once; looks at what it saved at every pass."""

    def __init__(self, torch: Any, log: TorchContext) -> None:
        self.log = log
        self.values = log.values
        self.nodes = log.program.nodes
        self.tensor_type = torch.Tensor
        self._next_number = torch._C._autograd._get_sequence_nr
        self._top_hooks = torch._C._autograd._top_saved_tensors_default_hooks
        self.detailed = False  # a graph is recorded too
        self._folded_to = 0  # nodes with lower keys are read no more
        self.ahead = PassPreview(torch, log.tensors)
        self.producers = Producers(self.ahead.made)
        self.spent = self.ahead.freed
        self.lent = set[int]()  # nodes, of late, that may have saved memory lent out
        self._current: Backward | None = None  # the pass that is looked at
        self.packed: dict[tuple[int, str, int], str] = {}  # by node, slot, place: hook

    def made_by(self, nodes: Sequence[int], maker: int, header: Any = None) -> None:
        """Remember which event made the nodes; ``header`` is of a call's note."""
        sound = self._is_sound()
        self.producers.add(nodes, maker, header if sound else None)
        if nodes and sound:
            self.ahead.made(nodes[0], nodes[-1])

    def made_in(self, event: int, first: int, last: int) -> None:
        """Remember what a pass made that was asked for derivatives with a graph."""
        made = self.producers.add_between(first, last, event)
        for key in made if self._is_sound() else ():
            self.ahead.made(key, key)

    def _is_sound(self) -> bool:
        """Tell whether nodes that are made now need no closer look: nobody packs."""
        return self.log.brief and self._top_hooks(True) is None

    def forget(self, first: int, but: Set[int] = frozenset()) -> None:
        """Drop what was made before the first event that is kept, but for some."""
        old = self.producers.forget(first, but)
        for key in old:
            self.nodes.pop(key, None)
        self.ahead.forget(old)
        for at in [at for at in self.packed if at[0] not in self.nodes]:
            del self.packed[at]

    def is_known(self, key: int) -> bool:
        """Whether a node was read, or looked at by a pass that found it good."""
        return key in self.nodes or self.ahead.has_walked(key)

    # ---- walking -------------------------------------------------------------------

    def walk(self, roots: list[Any], event: Backward | None = None) -> dict[int, Any]:
        """Read all nodes behind these; return them by key, the roots' first.

        With an event, it learns what the pass would find: leaves, saved tensors that
        were overwritten, nodes freed before.
        """
        found: dict[int, Any] = {}
        stale: list[StaleSaved] = []
        freed: list[int] = []
        nodes, key_of = self.nodes, self.values.node_key
        waiting = [(key_of(fn), fn) for fn in reversed(roots) if fn is not None]
        while waiting:
            key, fn = waiting.pop()
            if key in found:
                if key > 0 and found[key] is not fn:
                    self._other_thread()
                continue
            found[key] = fn
            edges: list[tuple[int, int] | None] = []
            for each, number in fn.next_functions:
                if each is None:
                    edges.append(None)
                    continue
                behind = key_of(each)
                edges.append((behind, number))
                if behind not in found:
                    waiting.append((behind, each))
            node = nodes.get(key) or self._read(fn, key, tuple(edges))
            if key > 0:
                self._look(fn, node, stale, freed)
        if event is not None:
            event.stale, event.freed = tuple(stale), tuple(freed)
            list_nodes(event, found)
        return found

    def _other_thread(self) -> None:
        if OTHER_THREADS not in self.log.program.notes:
            self.log.program.notes.append(OTHER_THREADS)

    def preview_pass(
        self, roots: list[Any], site: RawSite | None
    ) -> PreviewedPass | None:
        """Return what a pass walks, where its graph need not be read."""
        if not self.log.brief or self._lent_was_changed(roots):
            return None
        ahead = self.ahead.look(roots, site, self.producers)
        self.producers.passed()
        return ahead

    def _lent_was_changed(self, roots: list[Any]) -> bool:
        """Tell whether NumPy, say, wrote to what nodes of this pass had saved."""
        keys, found, stale = self.lent, set[int](), list[StaleSaved]()
        if not keys:
            return False
        self.lent = set[int]()
        waiting, key_of = [fn for fn in roots if fn is not None], self.values.node_key
        while waiting:
            fn = waiting.pop()
            if (key := key_of(fn)) in found:
                continue
            found.add(key)
            behind = fn.next_functions
            waiting += [each for each, _ in behind if each is not None]
            if key in keys:
                ends = tuple([each and (key_of(each), at) for each, at in behind])
                self._look(
                    fn, self.nodes.get(key) or self._read(fn, key, ends), stale, []
                )
        return bool(stale)

    def inspect_pass(self, roots: list[Any], event: Backward) -> dict[int, Any]:
        """Tell an event what its pass will find."""
        self._current = event
        folded = self._folded(roots)
        if folded is None:
            return self.walk(roots, event)
        self.log.size.counting = True
        return self._read_rows(folded, event)

    def _folded(self, roots: Sequence[Any]) -> Folded[Any] | None:
        """Return the rows of a graph that is too large to be read node by node."""
        lines = self.log.size.lines
        lines.settle(self._next_number())
        there = [root for root in roots if root is not None]
        return folded_graph(there, lambda fn: (type(fn), lines.at(fn._sequence_nr())))

    def _read_rows(self, folded: Folded[Any], event: Backward) -> dict[int, Any]:
        """Read the rows of a large graph; return those that are one node, by key."""
        stale: list[StaleSaved] = []
        freed: list[int] = []
        nodes, key_of, lines = self.nodes, self.values.node_key, self.log.size.lines
        leaves: list[int] = []
        for fn in folded.row_of:
            key = key_of(fn)
            if key < 0:
                leaves.append(-key)
            if key in nodes:
                nodes[key].count = 0  # unless it is a row itself
        keys = [key_of(fn) for fn in folded.rows]
        for row, (fn, key) in enumerate(zip(folded.rows, keys, strict=True)):
            behind = folded.behind[row]
            edges = tuple([at and (keys[at[0]], at[1]) for at in behind])
            node = nodes.get(key) or self._read(fn, key, edges)
            node.count = folded.counts.get(row, 1)
            if key > 0:
                node.next = edges
                if node.site is None:
                    node.site = lines.at(key - 1)
                self._look(fn, node, stale, freed)
        event.stale, event.freed = tuple(stale), tuple(freed)
        event.node_count, event.leaves = folded.total, tuple(leaves)
        event.nodes = tuple(keys)
        self._folded_to = max(self._folded_to, *keys)
        pairs = enumerate(zip(keys, folded.rows, strict=True))
        return {key: fn for row, (key, fn) in pairs if row not in folded.counts}

    def inspect_failed(self, roots: list[Any], event: Backward) -> None:
        """Read what is left after a pass that failed."""
        self._current = event
        if event.node_count > len(event.nodes):
            return  # what there is to know of a large graph was read before
        if event.stale or event.freed:
            for root in roots:
                self.read(root)
        else:
            self.walk(roots, event)
            event.freed = ()  # by this very pass: those of earlier ones are spent

    def read(self, root: Any) -> None:
        """Read what is not known yet of the graph behind a node."""
        waiting = [root]
        while waiting:
            fn = waiting.pop()
            if fn is None:
                continue
            key = self.values.node_key(fn)
            if key in self.nodes or 0 < key <= self._folded_to:
                continue
            edges: list[tuple[int, int] | None] = []
            for each, number in fn.next_functions:
                edges.append(each and (self.values.node_key(each), number))
                waiting.append(each)
            self._look(fn, self._read(fn, key, tuple(edges)), [], [])

    def outline(self, roots: list[Any]) -> None:
        """Read what is not known yet of a graph while a pass walks it.

        What nodes saved is left alone: the pass has freed it, or is about to.
        """
        waiting, met = list(roots), set[int]()
        while waiting:
            fn = waiting.pop()
            if fn is None or (key := self.values.node_key(fn)) in met:
                continue
            met.add(key)
            edges: list[tuple[int, int] | None] = []
            for each, number in fn.next_functions:
                edges.append(each and (self.values.node_key(each), number))
                waiting.append(each)
            if key not in self.nodes:
                self._read(fn, key, tuple(edges))

    def read_living(self) -> None:
        """Read the graphs that tensors still hold; rules look for those never used."""
        if self.log.size.counting:
            self._read_large()
        for _, tensor in list(self.log.tensors.alive())[-_MOST_LIVING:]:
            if isinstance(tensor, self.tensor_type):
                self.read(grad_fn_of(tensor))

    def _read_large(self) -> None:
        """Read the graph of a large step that no pass has walked."""
        living = [tensor for _, tensor in self.log.tensors.alive()]
        latest = self.log.size.latest
        found = [*living[-_MOST_LIVING:], None if latest is None else latest()]
        ends = [
            grad_fn_of(each) for each in found if isinstance(each, self.tensor_type)
        ]
        folded = self._folded(list(dict.fromkeys(ends)))
        if folded is not None:
            event = Backward(index=-1)
            self._read_rows(folded, event)
            self.log.size.unwalked = event.nodes

    def passed(self, event: Backward) -> None:
        """Note what a pass freed; one for some inputs only is looked up when needed."""
        if event.retain_graph or event.error or event.inputs:
            return
        if not self.log.scan:
            self.spent(WalkedNodes([key - 1 for key in event.nodes if key > 0]))
            return
        for key in event.nodes:
            node = self.nodes.get(key)
            if node is not None and node.saved:
                self._free(node, event)

    def _free(self, node: Node, event: Backward | None) -> None:
        node.freed_by = None if event is None else event.index
        for saved in node.saved:
            saved.freed = True

    def _who_freed(self, key: int) -> Backward | None:
        """Return the last pass before this one that walked a node to its end."""
        for event in reversed(self.log.program.events):
            if (
                isinstance(event, Backward)
                and event is not self._current
                and not event.retain_graph
                and key in event.nodes
            ):
                return event
        return None

    def _read(
        self, fn: Any, key: int, edges: tuple[tuple[int, int] | None, ...]
    ) -> Node:
        sequence = fn._sequence_nr()
        node = self.nodes[key] = Node(key, type(fn).__name__, edges)
        if sequence == NO_SEQUENCE:
            node.leaf = -key or None
            if key:
                node.shape = shape_of(fn.variable)
                # Unlike other nodes it comes again, in passes that are drawn.
                node.outputs = (self.values.of(fn.variable),)
            return node
        node.sequence = sequence
        maker = self.log.program.event(self.producers.get(key))
        if maker is not None:
            node.call, node.site = maker.index, maker.site
            node.module = getattr(maker, "module", None)
        if hasattr(fn, "_forward_cls"):
            node.custom, node.is_function = custom_function(fn), True
        if self.log.scan or self.detailed:
            metadata = getattr(fn, "_input_metadata", None) or ()
            node.shape = shape_of(metadata[0]) if metadata else None
            if self.detailed:
                node.outputs = self._outputs(key, metadata)
                node.view = view_arguments(fn)
        return node

    def _outputs(self, key: int, metadata: Any) -> tuple[Value, ...]:
        """Describe what a node gave: as it was seen, or as far as the node knows it."""
        found: list[Value] = []
        for number, each in enumerate(metadata):
            value = self.values.output(key, number)
            found.append(value or self.values.from_metadata(each, key, number))
        return tuple(found)

    # ---- what is saved -------------------------------------------------------------

    @unheard
    def _look(
        self, fn: Any, node: Node, stale: list[StaleSaved], freed: list[int]
    ) -> None:
        """Read the saved tensors on first sight; later, see whether they still hold."""
        live: dict[str, Any] = {}
        broken, hooked = list[Saved](), list[Saved]()
        for slot, raw_slot in saved_slots(type(fn)):
            raw = None
            try:
                raw = getattr(fn, raw_slot)
                if is_hooked(raw):  # unpacking would run the user's hook once more
                    hooked += self._hooked(node.key, slot, raw)
                    continue
                found = getattr(fn, slot)
            except RuntimeError as error:
                versions = _VERSIONS.search(str(error))
                if versions is None:
                    freed.append(node.key)
                    if node.freed_by is None:
                        self._free(node, self._who_freed(node.key))
                    return
                now, expected = int(versions[1]), int(versions[2])
                if row := self._overwritten(node, slot, raw, expected, now):
                    broken.append(row)
                    stale.append(StaleSaved(node.key, row.slot, row.value, now))
                continue
            if isinstance(found, tuple | list):
                live |= {f"{slot}[{at}]": each for at, each in enumerate(found)}
            else:
                live[slot] = found
        if not node.saved and (live or broken or hooked):
            kept = [
                Saved(slot, self._saved_value(tensor))
                for slot, tensor in live.items()
                if tensor is not None
            ]
            node.saved = (*kept, *broken, *hooked)
        if live and self.log.exports.watched:
            stale += self.log.exports.changed(node, live)

    def _hooked(self, key: int, slot: str, raw: Any) -> list[Saved]:
        """Describe what a hook packed, as far as it is a tensor still."""
        several = isinstance(raw, tuple)
        for at, each in enumerate(raw if several else (raw,)):
            if self.detailed and each.unpack_hook is not None:
                self.packed[key, slot, at] = hook_name(each)
        return [
            Saved(
                f"{slot}[{at}]" if several else slot,
                self.values.of(each.data),
                hooked=True,
            )
            for at, each in enumerate(raw if several else (raw,))
            if self.detailed and isinstance(each.data, self.tensor_type)
        ]

    def _saved_value(self, tensor: Any) -> Value:
        """Describe a saved tensor; an output is another object than the user's."""
        fn = tensor.grad_fn
        if fn is None:
            return self.values.of(tensor)
        output = self.values.node_key(fn), tensor.output_nr
        known = self.values.output(*output)
        if known is not None and known.version == tensor._version:
            if self.log.scan and known.summary is None:  # the call was told in brief
                summary, shown = self.values.holds(tensor)
                return replace(known, summary=summary, shown=shown)
            return known
        glance = self.values.look(tensor, None if known is None else known.tensor)
        if self.detailed:
            self.values.outputs.setdefault(output_key(*output), glance)
        return self.log.program.value(glance)

    def _overwritten(
        self, node: Node, slot: str, raw: Any, expected: int, now: int
    ) -> Saved | None:
        """Describe a saved tensor that can no longer be unpacked, as it was."""
        for row in node.saved:
            if row.slot.partition("[")[0] == slot and row.value.version == expected:
                return row
        several = isinstance(raw, tuple)
        for at, each in enumerate(raw if several else (raw,)):
            tensor = each.data
            if tensor is None or unpacks(each, now):
                continue
            value = self.values.of(tensor, self._output_like(node.key, tensor))
            value = replace(value, version=expected)
            return Saved(f"{slot}[{at}]" if several else slot, value)
        return None

    def _output_like(self, key: int, tensor: Any) -> int | None:
        """Return the number of the output of a node that shares this tensor's memory.

        A node keeps its own output as a detached tensor, to be no part of a cycle.
        """
        storage = self.values.storage_of(tensor.untyped_storage())
        for output in range(_FEW):
            known = self.values.output(key, output)
            if known is not None and known.storage == storage:
                return known.tensor
        return None
