"""Record a block of code: listen to the engine, keep raw records, within bounds."""

from __future__ import annotations

import threading
import time
from types import FrameType
from typing import Any

from gradtape import _observe as events
from gradtape._node import AccumulateGrad
from gradtape._observe import observe
from gradtape._tensor import Tensor
from gradviz import ir
from gradviz._capture._assemble import assemble
from gradviz._capture._engine import PRODUCER, EngineReader
from gradviz._capture._facts import names_of_locals, outer_frames, tensors_in
from gradviz._capture._flow import FlowLog
from gradviz._capture._names import names_in_frame, names_in_module
from gradviz._capture._own import is_probing
from gradviz._capture._raw import (
    KEPT_STEPS,
    RawEvent,
    RawNode,
    RawWrite,
    Recording,
    ends_of,
    note_versions,
)
from gradviz._capture._stats import statistics
from gradviz._capture._summaries import Summaries
from gradviz._capture._written import whole_of

MAX_NODES = 20_000
"""Finished steps are forgotten, oldest first, beyond this many nodes."""

_LONGEST_STEP = 10  # times MAX_NODES, before a step without backward is cut


class Recorder:
    """Listens to gradtape and keeps raw records of the last steps.

    Finished steps are forgotten beyond ``steps``, or where those that are kept hold
    more than ``max_nodes`` nodes together.
    """

    def __init__(
        self,
        *,
        title: str = "",
        values: bool = True,
        steps: int = KEPT_STEPS,
        max_nodes: int = MAX_NODES,
    ) -> None:
        self.title = title
        self.values = values
        self.steps = steps
        self.max_nodes = max_nodes
        self.lock = threading.RLock()
        self._reader = EngineReader()
        self.kept_steps: list[list[RawNode]] = [[]]
        self._events: list[list[RawEvent]] = [[]]
        self._roots: list[RawNode] = []
        self._notes: list[str] = []
        self._forgotten = 0
        self._begun_ns = 0
        self._node_began_ns = 0
        self._summaries = Summaries()
        self.flow = FlowLog()
        self._handle: Any = None
        self._frame: Any = None

    # ---- begin and end ------------------------------------------------------------

    def begin(self, frame: FrameType | None) -> None:
        """Start to listen; variables of the frame give tensors their names."""
        self._begun_ns = time.perf_counter_ns()
        self._frame = frame
        self._reader.names |= names_in_frame(frame, Tensor)
        self._handle = observe(self._listen)

    def end(self, error: BaseException | None) -> None:
        """Stop to listen."""
        self._handle.remove()
        self._handle = None
        with self.lock:
            self._learn_names()
            self._reader.note_holders(self._frame)
            if error is not None:
                sentence = f"{type(error).__name__}: {error}"
                self._add("error", text=sentence)
                self._notes.append(f"The recorded code raised {sentence}")
        self._frame = None

    def _learn_names(self) -> None:
        self._reader.names |= names_in_frame(self._frame, Tensor)
        self._reader.rename(self._reader.names)

    # ---- results ------------------------------------------------------------------

    def snapshot(self) -> ir.Snapshot:
        """Return what was recorded so far as a snapshot."""
        with self.lock:
            if self._frame is not None:
                self._learn_names()
            nodes = self._kept()
            nodes.sort(key=lambda raw: -1 if raw.sequence is None else raw.sequence)
            notes = list(self._notes)
            if self._forgotten:
                kept = len(self.kept_steps) - (not self.kept_steps[-1])
                notes.append(
                    f"{self._forgotten + kept} steps were recorded; the last {kept} "
                    "are kept."
                )
            if not nodes:
                notes.append(
                    "No operation with a gradient was recorded: nothing in the block "
                    "required one, or grad mode was off."
                )
            return assemble(self.recording_of(nodes, notes))

    def recording_of(
        self, nodes: list[RawNode], notes: list[str], latest: bool = False
    ) -> Recording:
        """Return these nodes with all events, or with those of the last step alone."""
        steps = self._events[-2:-1] if latest else self._events
        return Recording(
            producer=PRODUCER,
            title=self.title,
            nodes=nodes,
            roots=self._roots or ends_of(nodes),
            events=[event for step in steps for event in step],
            notes=notes,
            flow=self.flow.steps,
            flow_forgotten=self.flow.forgotten,
        )

    @property
    def finished(self) -> int:
        """How many steps are over, those that were forgotten too."""
        return self._forgotten + len(self.kept_steps) - 1

    def _kept(self) -> list[RawNode]:
        """Return the nodes of the kept steps, with the leaves they end at."""
        nodes = [raw for step in self.kept_steps for raw in step]
        ends = [edge.producer for raw in nodes for edge in raw.edges]
        leaves = [raw for raw in (*ends, *self._roots) if raw.kind == "accumulate"]
        return [*{id(raw): raw for raw in leaves}.values(), *nodes]

    # ---- events -------------------------------------------------------------------

    def _listen(self, event: events.Event) -> None:
        handler = _HANDLERS.get(type(event))
        if handler is None:
            return
        with self.lock:
            try:
                handler(self, event)
            except Exception as error:
                self._notes.append(
                    f"Recording stopped at a {type(event).__name__} event: "
                    f"{type(error).__name__}: {error}"
                )
                raise  # the engine takes the listener off and warns

    def _add(self, kind: ir.EventKind, **facts: Any) -> None:
        elapsed = time.perf_counter_ns() - self._begun_ns
        self._events[-1].append(RawEvent(kind, elapsed, **facts))

    def _read(self, node: Any) -> RawNode:
        raw = self._reader.node(node)
        if self._reader.made:
            # Leaves live on from step to step: they belong to those that reach them.
            made = [each for each in self._reader.made if each.kind != "accumulate"]
            self.kept_steps[-1] += made
            self._reader.made = []
            if len(self.kept_steps[-1]) > self.max_nodes * _LONGEST_STEP:
                self._begin_step()  # no backward in sight
        return raw

    def _on_op(self, event: events.OpCalled) -> None:
        if is_probing():
            return
        outputs = [self._reader.tensor(t) for t in event.outputs]
        if self.values:
            for raw, tensor in zip(outputs, event.outputs, strict=True):
                if raw.statistics is None:
                    raw.statistics = statistics(tensor._data)
        raw_node = None
        if event.node is not None:
            raw_node = self._read(self._outer(event))
            raw_node.call = event.name
            raw_node.inputs = [self._reader.tensor(t) for t in tensors_in(event.inputs)]
            if outputs:
                part = event.outputs[0]
                whole = whole_of(self._reader, raw_node, part, self.values)
                raw_node.outputs[: len(outputs)] = [whole or outputs[0], *outputs[1:]]
            raw_node.stack = outer_frames()
            if event.name.endswith("_"):
                raw_node.kind = "inplace"
                self._credit(raw_node)
        self._add("op", node=raw_node, tensor=(outputs or [None])[0], text=event.name)

    def _outer(self, event: events.OpCalled) -> Any:
        """Return the node that entered the graph: CopySlices for a write to a view."""
        base = event.outputs[0]._base if event.outputs else None
        outer = None if base is None else base._grad_fn
        inner = getattr(outer, "inner", None)
        return outer if inner is not None and inner is event.node else event.node

    def _credit(self, node: RawNode) -> None:
        storage = node.outputs[0].storage if node.outputs else None
        if storage is not None and storage.writes:
            storage.writes[-1].node = node

    def _on_write(self, event: events.StorageWritten) -> None:
        storage = self._reader.storage(event.storage)
        if not storage.writes or storage.writes[-1].version < event.version:
            storage.writes.append(RawWrite(event.version, event.op, event.site))
        # Noted now: the memory may be gone before anyone looks at it again.
        version = event.version
        storage.version = max(storage.version, version)
        facts = {"site": event.site, "text": event.op, "version": version}
        self._add("write", storage=storage, **facts)

    def _on_mode(self, event: events.GradModeSwitched) -> None:
        if is_probing():
            return
        self._add("grad_mode", site=event.site, text="on" if event.enabled else "off")

    def _on_begin(self, event: events.BackwardBegan) -> None:
        self._roots = [self._read(node) for node in event.roots]
        self._reader.rename(names_of_locals())
        count = f"{len(event.nodes)} nodes"
        self._add("backward_begin", node=self._roots[0], site=event.site, text=count)

    def _on_end(self, event: events.BackwardEnded) -> None:
        self._summaries.clear()
        self.flow.end_pass()
        failed = "" if event.error is None else f"{event.error}"
        if event.error is not None:
            note_versions(self.kept_steps[-1])
        self._add("backward_end", text=failed)
        self._begin_step()

    def _begin_step(self) -> None:
        self._reader.prune()
        self.kept_steps.append([])
        self._events.append([])
        while len(self.kept_steps) > self.steps + 1 or (
            len(self.kept_steps) > 2 and sum(map(len, self.kept_steps)) > self.max_nodes
        ):
            self._forget(self.kept_steps.pop(0))
            self._events.pop(0)

    def _forget(self, step: list[RawNode]) -> None:
        self._forgotten += 1
        for raw in step:
            raw.edges.clear()  # newer nodes may refer to this one, not to its past

    def _on_enter(self, event: events.NodeEntered) -> None:
        raw = self._read(event.node)
        raw.grad_outputs = [self._summaries.of(array) for array in event.gradients]
        first = next((s for s in raw.grad_outputs if s is not None), None)
        self._add("node_enter", node=raw, statistics=first)
        self._node_began_ns = time.perf_counter_ns()

    def _on_leave(self, event: events.NodeLeft) -> None:
        ended = time.perf_counter_ns()
        raw = self._read(event.node)
        raw.elapsed_ns = ended - self._node_began_ns
        for edge in raw.edges:
            if edge.input < len(event.gradients):
                edge.gradient = self._summaries.of(event.gradients[edge.input])
        self._add("node_leave", node=raw)

    def _on_accumulate(self, event: events.GradAccumulated) -> None:
        raw = self._read(event.node)
        assert isinstance(event.node, AccumulateGrad)
        summary = self._summaries.of(event.gradient)
        raw.grad_outputs = [summary]
        self._add(
            "accumulate",
            node=raw,
            tensor=raw.outputs[0],
            statistics=summary,
            grad=None if event.first else self._grad_of(event.tensor),
        )
        self.flow.add(self._events[-1][-1].time_ns, raw, summary)

    def _grad_of(self, leaf: Tensor) -> ir.Statistics | None:
        """Summarize what is in ``.grad`` by now, where it held something before."""
        return None if leaf._grad is None else statistics(leaf._grad._data)

    def _on_hook(self, event: events.HookRan) -> None:
        raw = None if event.node is None else self._read(event.node)
        self._add("hook", node=raw, text=event.name)

    def _on_step(self, event: events.OptimizerStepped) -> None:
        name = type(event.optimizer).__name__
        self._add("optimizer_step", site=event.site, text=name)
        self.flow.stepped()

    def _on_module(self, event: events.ModuleEntered) -> None:
        module = event.scope.module()
        if event.scope.parent is None and module is not None:
            for key, name in names_in_module(module).items():
                self._reader.names.setdefault(key, name)
        self._add("module_enter", scope=self._reader.scope(event.scope))

    def _on_module_left(self, event: events.ModuleLeft) -> None:
        self._add("module_leave", scope=self._reader.scope(event.scope))


_HANDLERS: dict[type, Any] = {
    events.OpCalled: Recorder._on_op,
    events.StorageWritten: Recorder._on_write,
    events.GradModeSwitched: Recorder._on_mode,
    events.BackwardBegan: Recorder._on_begin,
    events.BackwardEnded: Recorder._on_end,
    events.NodeEntered: Recorder._on_enter,
    events.NodeLeft: Recorder._on_leave,
    events.GradAccumulated: Recorder._on_accumulate,
    events.HookRan: Recorder._on_hook,
    events.OptimizerStepped: Recorder._on_step,
    events.ModuleEntered: Recorder._on_module,
    events.ModuleLeft: Recorder._on_module_left,
}
