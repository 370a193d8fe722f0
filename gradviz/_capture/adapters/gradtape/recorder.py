"""Record a block of code: listen to the engine, keep raw records, within bounds."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from types import FrameType
from typing import Any

from gradtape._debug import WRITE_LOG_LENGTH, AccumulateGrad, Tensor, events, observe
from gradviz import ir
from gradviz._capture.adapters.gradtape.copy_slices import whole_of
from gradviz._capture.adapters.gradtape.graph_walk import PRODUCER, EngineReader
from gradviz._capture.adapters.gradtape.op_facts import (
    hooks_of,
    names_of_locals,
    outer_frames,
    shown_name,
    tensors_in,
)
from gradviz._capture.adapters.gradtape.statistics import Summaries, summary_of
from gradviz._capture.adapters.gradtape.steps import Steps
from gradviz._capture.names.hooks import is_of_module
from gradviz._capture.names.tensors import names_in_frame, names_in_module
from gradviz._capture.names.user_code import is_probing
from gradviz._capture.recorder.assemble import assemble
from gradviz._capture.recorder.gradient_flow import FlowLog
from gradviz._capture.recorder.raw import (
    KEPT_STEPS,
    RawNode,
    RawStatistics,
    RawTensor,
    RawWrite,
    Recording,
    ends_of,
    leaves_of,
    note_versions,
)

MAX_NODES = 20_000
"""Finished steps are forgotten, oldest first, beyond this many nodes."""


class Recorder:
    """Listens to gradtape and keeps raw records of the last steps."""

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
        self.kept = Steps(steps, max_nodes)
        self.lock = threading.RLock()
        self._reader = EngineReader()
        self._roots: list[RawNode] = []
        self._notes: list[str] = []
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
            notes += filter(None, [self.kept.summary()])
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
        self._reader.look_again(nodes)
        steps = self.kept.finished[-1:] if latest else self.kept.all()
        return Recording(
            producer=PRODUCER,
            title=self.title,
            nodes=nodes,
            roots=self._roots or ends_of(nodes),
            events=[event for step in steps for event in step.events],
            notes=notes,
            flow=self.flow.steps,
            flow_forgotten=self.flow.forgotten,
        )

    @property
    def finished(self) -> int:
        """How many steps are over, those that were forgotten too."""
        return self.kept.forgotten + len(self.kept.finished)

    def _kept(self) -> list[RawNode]:
        """Return the nodes of the kept steps, with the leaves they end at."""
        nodes = self.kept.nodes()
        leaves = leaves_of(nodes)
        leaves |= {id(raw): raw for raw in self._roots if raw.kind == "accumulate"}
        return [*leaves.values(), *nodes]

    # ---- events -------------------------------------------------------------------

    def _listen(self, event: events.Event) -> None:
        handler = _HANDLERS.get(type(event))
        if handler is None or is_probing():
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

    def _add(self, kind: ir.EventKind, **facts: Any) -> int:
        elapsed = time.perf_counter_ns() - self._begun_ns
        self.kept.open.events.add(kind, elapsed, **facts)
        return elapsed

    def _read(self, node: Any, outputs: Sequence[RawTensor] = ()) -> RawNode:
        raw = self._reader.node(node, outputs)
        made = self._reader.made
        if made:
            # Leaves live on from step to step: they belong to those that reach them.
            self.kept.open.nodes += [raw for raw in made if raw.kind != "accumulate"]
            made.clear()
            if self.kept.is_too_long:
                self._end_step()  # no backward in sight
        return raw

    def _on_op(self, event: events.OpCalled) -> None:
        outputs = tuple([self._reader.tensor(t) for t in event.outputs])
        if self.values:
            for raw, tensor in zip(outputs, event.outputs, strict=True):
                if raw.statistics is None:
                    raw.statistics = summary_of(tensor._data)
        raw_node, name = None, shown_name(event.name)
        if event.node is not None:
            raw_node = self._read_op(event, name, outputs)
        elif self.kept.shorten():
            self._reader.end_step(self.kept.most + 1)  # forget what is gone
        tensor = outputs[0] if outputs else None
        self._add("op", node=raw_node, tensor=tensor, text=name)

    def _read_op(
        self, event: events.OpCalled, name: str, outputs: tuple[RawTensor, ...]
    ) -> RawNode:
        raw = self._read(self._outer(event), outputs)
        raw.call = name
        inputs = tensors_in(event.inputs)
        raw.inputs = tuple([self._reader.tensor(each) for each in inputs])
        if outputs:
            part = event.outputs[0]
            whole = whole_of(self._reader, raw, part, self.values)
            first = outputs if whole is None else (whole, *outputs[1:])
            raw.outputs = (*first, *raw.outputs[len(first) :])
        raw.stack = outer_frames()
        if event.name.endswith("_"):
            raw.kind = "inplace"
            self._credit(raw)
        return raw

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
            write = RawWrite(event.version, event.op, event.site)
            storage.wrote(write, WRITE_LOG_LENGTH)
        # Noted now: the memory may be gone before anyone looks at it again.
        version = event.version
        storage.version = max(storage.version, version)
        facts = {"site": event.site, "text": event.op, "version": version}
        self._add("write", storage=storage, **facts)

    def _on_mode(self, event: events.GradModeSwitched) -> None:
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
            self._reader.look_again(self.kept.open.nodes)
            note_versions(self.kept.open.nodes)
        self._add("backward_end", text=failed)
        self._end_step()

    def _end_step(self) -> None:
        self._reader.end_step(self.kept.most + 1)
        self.kept.end()

    def _on_enter(self, event: events.NodeEntered) -> None:
        raw = self._read(event.node)
        raw.grad_outputs = self._summaries.of_all(event.gradients)
        first = next((s for s in raw.grad_outputs if s is not None), None)
        self._add("node_enter", node=raw, statistics=first)
        self._node_began_ns = time.perf_counter_ns()

    def _on_leave(self, event: events.NodeLeft) -> None:
        ended = time.perf_counter_ns()
        raw = self._read(event.node)
        raw.elapsed_ns = ended - self._node_began_ns
        pairs = zip(raw.behind, event.gradients, strict=False)
        wanted = [None if to is None else gradient for to, gradient in pairs]
        raw.grad_inputs = self._summaries.of_all(wanted)
        self._add("node_leave", node=raw)

    def _on_accumulate(self, event: events.GradAccumulated) -> None:
        raw = self._read(event.node)
        assert isinstance(event.node, AccumulateGrad)
        summary = self._summaries.of(event.gradient)
        raw.grad_outputs = (summary,)
        elapsed = self._add(
            "accumulate",
            node=raw,
            tensor=raw.outputs[0],
            statistics=summary,
            grad=None if event.first else self._grad_of(event.tensor),
        )
        self.flow.add(elapsed, raw, summary)

    def _grad_of(self, leaf: Tensor) -> RawStatistics | None:
        """Summarize what is in ``.grad`` by now, where it held something before."""
        return None if leaf._grad is None else summary_of(leaf._grad._data)

    def _on_hook(self, event: events.HookRan) -> None:
        raw = None if event.node is None else self._read(event.node)
        names = [event.name]
        if raw is not None and event.node is not None:
            raw.hooks = hooks_of(event.node)  # the node may be gone when it is over
            if is_of_module(event.name):
                names = [hook.name for hook in raw.hooks]
        for name in names:
            self._add("hook", node=raw, text=name)

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
