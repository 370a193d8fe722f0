"""From a log to a graph: the raw records that a snapshot is made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gradviz import ir
from gradviz._capture.names.hooks import Hook
from gradviz._capture.names.scopes import path_below
from gradviz._capture.names.tensors import op_name
from gradviz._capture.recorder.call_text import arguments_of, backward_source
from gradviz._capture.recorder.engine import GraphFacts, Operation, RecordedLog
from gradviz._capture.recorder.raw import (
    RawNode,
    RawSaved,
    RawScope,
    RawStorage,
    RawTensor,
    Recording,
)
from gradviz._capture.recorder.timeline import timeline
from gradviz._capture.recorder.writes import COPY_SLICES, add_writes
from gradviz._capture.statistics.thumbnails import Sample
from gradviz.program.events import Backward, Call, Event, HookRegistered, ModuleCall
from gradviz.program.values import Node, Summary, Value, extent, itemsize_of

VIEWS = frozenset(
    {
        *("AsStrided", "Diagonal", "Expand", "Permute", "Select", "Slice", "Squeeze"),
        *("T", "Transpose", "Unfold", "Unsqueeze", "View", "ReshapeAlias", "Alias"),
        *("UnsafeView", "Chunk", "Split", "SplitWithSizes", "Unbind", "Real", "Imag"),
        *("ViewAsReal", "ViewAsComplex", "Unflatten", "MovedimView", "Detach"),
    }
)


class GraphFromLog:
    """Translates records of the log, each one once."""

    def __init__(
        self,
        log: RecordedLog,
        facts: GraphFacts,
        holders: Mapping[int, tuple[str, ...]] | None = None,
        hooks: Mapping[int, tuple[Hook, ...]] | None = None,
        keeps: bool = False,
    ) -> None:
        self.log = log
        self.keeps = keeps  # thumbnails
        self.facts = facts
        self._leaf_hooks = hooks or {}  # at the end of the recording, by the tensor
        self._holders = holders or {}  # names that hold a tensor, by its number
        self.program = log.program
        self.nodes: dict[int, RawNode] = {}
        self._tensors: dict[int, RawTensor] = {}  # by id(value): values live in the log
        self._storages: dict[int, RawStorage] = {}
        self._scopes: dict[int, RawScope] = {}
        self.bare = 0  # tensors that gave no memory to look at
        self._calls: dict[str, int] = {}  # of outermost modules, by name
        self._used: dict[int, RawTensor] = {}  # by the key of a leaf: as first taken
        self._paths: dict[tuple[int, int], str] = {}  # of modules, from their callers
        self._events: dict[int, Event] = {}
        self.samples: dict[int, Sample] = {}  # by the id of statistics

    def recording(
        self,
        title: str,
        events: list[Event],
        keys: Iterable[int],
        roots: list[int],
        before: Iterable[Event] = (),
    ) -> Recording:
        """Return the nodes with these keys and what the events tell of them.

        Of the events before, only the calls of modules count: they number later ones.
        """
        self._events = {event.index: event for event in (*before, *events)}
        for event in before:
            self.scope(event.index)
        known = self.program.nodes
        rows = _in_order([known[key] for key in dict.fromkeys(keys) if key in known])
        for node in rows:
            self.nodes[node.key] = self._node(node)
        self._use_leaves()
        for node in rows:
            self._edges(node)
            self._lay_out(node)
        self._writes(events)
        self._hooks(events)
        self._gradients(events)
        return Recording(
            self.facts.producer,
            title,
            list(self.nodes.values()),
            [self.nodes[key] for key in roots if key in self.nodes],
            events=timeline(self, events),
        )

    # ---- nodes ---------------------------------------------------------------------

    def _node(self, node: Node) -> RawNode:
        raw = RawNode(node.name, _kind(node))
        raw.sequence, raw.site, raw.count = node.sequence, node.site, node.count
        raw.saved = [
            RawSaved(row.slot, self.tensor(row.value), row.value.version, row.hooked)
            for row in node.saved
        ]
        raw.freed = any(row.freed for row in node.saved)
        if raw.saved and self.facts.is_gone(node.key):
            raw.freed = True
        raw.outputs = [self.tensor(value) for value in node.outputs]
        if node.leaf is not None:
            raw.call = raw.outputs[0].name or "" if raw.outputs else ""
            return raw
        raw.call = op_name(node.name)
        raw.formula = backward_source(node.custom)
        raw.scope = self.scope(node.module)
        operation = self.facts.operation(node.key)
        call = self._events.get(-1 if node.call is None else node.call)
        if isinstance(call, Call):
            raw.stack = call.stack
            if operation is None and call.nodes and call.nodes[-1] == node.key:
                self._called(raw, node, call)
        if operation is not None:
            self._operated(raw, operation)
        return raw

    def _operated(self, raw: RawNode, made: Operation) -> None:
        """Add what the engine told of the op that made a node."""
        raw.call, raw.kind, raw.arguments = made.name, made.kind, made.arguments
        raw.formula = made.formula
        raw.inputs = self._taken(made.inputs)
        seen = [self.tensor(value) for value in made.outputs]
        raw.outputs = [*seen, *raw.outputs[len(seen) :]]

    def _called(self, raw: RawNode, node: Node, call: Call) -> None:
        """Add what the call says; of several nodes of one call the last is the op."""
        raw.call = call.op
        raw.arguments = arguments_of(call)
        raw.inputs = self._taken(call.inputs)
        outputs = list(raw.outputs)
        for value in call.outputs:
            if value.node == node.key:
                while len(outputs) <= value.output:
                    outputs.append(self.tensor(value))
                outputs[value.output] = self.tensor(value)
        raw.outputs = outputs
        if call.writes and raw.kind in ("op", "view"):
            raw.kind = "inplace"

    def _taken(self, values: Sequence[Value]) -> list[RawTensor]:
        """Return the records of what an op took, and note the leaves among it."""
        found = [self.tensor(value) for value in values]
        for value, raw in zip(values, found, strict=True):
            self._used.setdefault(-value.tensor, raw)
        return found

    def _use_leaves(self) -> None:
        """Show each leaf as these nodes used it first: it may have been seen before."""
        for key, raw in self._used.items():
            leaf = self.nodes.get(key)
            if leaf is not None:
                leaf.outputs = [raw]

    def _edges(self, node: Node) -> None:
        raw = self.nodes[node.key]
        ends = [(0, 0) if each is None else each for each in node.next]
        raw.behind = [self.nodes.get(key) for key, _ in ends]  # no node has the key 0
        raw.numbers = [number for _, number in ends]
        for behind in raw.behind:
            if behind is not None and behind.kind == "accumulate":
                behind.scope = behind.scope or raw.scope  # with its first user

    def _lay_out(self, node: Node) -> None:
        """Find out how a result lies in memory that nobody saw, where it is a view."""
        raw = self.nodes[node.key]
        edge = next(iter(raw.edges), None)
        if not node.view or edge is None:
            return
        if edge.output >= len(edge.producer.outputs):
            return
        self.facts.lay_out(node, raw, edge.producer.outputs[edge.output])

    # ---- tensors -------------------------------------------------------------------

    def tensor(self, value: Value) -> RawTensor:
        """Return the record of a tensor as one event saw it."""
        raw = self._tensors.get(id(value))
        if raw is None:
            facts = self.program.tensors.get(value.tensor)
            shape, strides = self.facts.layout(value)
            raw = self._tensors[id(value)] = RawTensor(
                shape=shape,
                strides=strides,
                offset=value.offset,
                dtype=value.dtype,
                device=value.device,
                storage=self.storage(value),
                version=value.version,
                requires_grad=value.requires_grad,
                is_leaf=value.is_leaf,
                is_view=value.is_view,
                name=None if facts is None else facts.name,
                statistics=self._statistics(value.summary),
                holders=self._holders.get(value.tensor, ()),
            )
        return raw

    def storage(self, value: Value) -> RawStorage | None:
        """Return the record of the memory behind a tensor."""
        if not value.storage:
            self.bare += bool(value.tensor)
            return None
        raw = self._storages.get(value.storage)
        if raw is None:
            nbytes, itemsize = self.facts.size(value.storage)
            if not nbytes:  # nobody asked: a log of cells notes no sizes
                itemsize = itemsize_of(value.dtype)
            raw = RawStorage(nbytes, value.device, itemsize)
            self._storages[value.storage] = raw
        raw.version = max(raw.version, value.version)
        if raw.nbytes < (least := extent(value) * raw.itemsize):
            raw.nbytes = least
        return raw

    def _writes(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, Call) and event.writes:
                add_writes(self, event)
            elif isinstance(event, Backward):
                self.note_stale(event)

    def note_stale(self, event: Backward) -> None:
        """Take the versions that a pass found in place of the saved ones."""
        for stale in event.stale:
            raw = self.storage(stale.value)
            if raw is not None:
                raw.version = max(raw.version, stale.version_now)
            node = self.nodes.get(stale.node)
            for saved in () if node is None else node.saved:
                if saved.slot == stale.slot:
                    saved.found = stale.version_now

    def _statistics(self, summary: Summary | None) -> ir.Statistics | None:
        """Return the statistics behind a summary, and note what a thumbnail needs."""
        found = statistics_of(summary)
        if self.keeps and summary is not None and summary.sample is not None:
            self.samples[id(found)] = summary.sample
        return found

    # ---- what runs and hooks say ---------------------------------------------------

    def _gradients(self, events: list[Event]) -> None:
        for event in events:
            for run in event.runs if isinstance(event, Backward) else ():
                raw = self.nodes.get(run.node)
                if raw is None:
                    continue
                raw.grad_outputs = [self._statistics(each) for each in run.incoming]
                raw.elapsed_ns = run.elapsed_ns
                raw.grad_inputs = [self._statistics(each) for each in run.outgoing]

    def _hooks(self, events: list[Event]) -> None:
        ended = {-number: each for number, each in self._leaf_hooks.items()}
        hooks: dict[int, list[Hook]] = {}
        for event in events:
            if isinstance(event, HookRegistered) and not event.removed and event.code:
                leaf = event.value is not None and event.value.node is None
                key = -event.value.tensor if leaf and event.value else event.target
                if key is not None and not event.kind.startswith("module"):
                    hook = Hook(event.code.co_qualname, event.code)
                    hooks.setdefault(key, []).append(hook)
        met = self.facts.hooks()
        for key, found in {**hooks, **met, **ended}.items():
            if key in self.nodes:
                self.nodes[key].hooks = tuple(found)

    def is_inside(self, call: Call) -> bool:
        """Tell whether a call ran within a pass."""
        around = None if call.within is None else self._events.get(call.within)
        return isinstance(around, Backward)

    # ---- modules -------------------------------------------------------------------

    def scope(self, index: int | None) -> RawScope | None:
        """Return the record of a module call; of what was dropped there is none."""
        event = None if index is None else self._events.get(index)
        if index is None or not isinstance(event, ModuleCall):
            return None
        raw = self._scopes.get(index)
        if raw is None:
            above = self.scope(event.parent)
            module = self.program.modules.get(event.module)
            kind = "" if module is None else module.kind
            name = kind if above is None else self._name_below(event) or kind
            calls = self._calls if above is None else above.calls
            calls[name] = calls.get(name, 0) + 1
            raw = self._scopes[index] = RawScope(name, kind, above, calls[name])
        return raw

    def _name_below(self, call: ModuleCall) -> str:
        """Return the attribute path of a module below the one that called it."""
        caller = self._events.get(-1 if call.parent is None else call.parent)
        if not isinstance(caller, ModuleCall):
            return ""
        pair = caller.module, call.module
        if pair not in self._paths:
            self._paths[pair] = path_below(self.program.modules, *pair)
        return self._paths[pair]


def statistics_of(summary: Summary | None) -> ir.Statistics | None:
    """Return the statistics behind a summary: all of them, where they were taken."""
    if summary is None:
        return None
    return briefly(summary) if summary.full is None else summary.full


def briefly(summary: Summary) -> ir.Statistics:
    """Return what a log knows of values anyway: no moments, no histogram."""
    return ir.Statistics(
        count=summary.count,
        minimum=summary.minimum,
        maximum=summary.maximum,
        norm=summary.norm,
        zeros=summary.zeros,
        nans=summary.nans,
        infs=summary.infs,
        first_bad=summary.first_bad,
    )


def _in_order(nodes: list[Node]) -> list[Node]:
    """Return the nodes as the forward pass made them, leaves first, as it used them."""
    made = [node for node in nodes if node.sequence is not None]
    made.sort(key=lambda node: node.sequence or 0)
    leaves = {node.key: node for node in nodes if node.sequence is None}
    used = [edge[0] for node in made for edge in node.next if edge is not None]
    first = dict.fromkeys([*(key for key in used if key in leaves), *leaves])
    return [*(leaves[key] for key in first), *made]


def _kind(node: Node) -> ir.NodeKind:
    if node.leaf is not None:
        return "accumulate"
    if node.name == COPY_SLICES:
        return "inplace"
    if node.custom is not None or node.is_function:
        return "custom"
    base, found, _ = node.name.partition("Backward")
    if not found:
        return "op"
    return "view" if base in VIEWS else "op"
