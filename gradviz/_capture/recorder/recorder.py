"""Records graphs: what the log of a block says, as a snapshot."""

from __future__ import annotations

from dataclasses import replace
from types import FrameType
from typing import Any

from gradviz import ir
from gradviz._capture.detail import Detail
from gradviz._capture.names.holders import holders_in
from gradviz._capture.names.hooks import Hook
from gradviz._capture.recorder.asides import without_asides
from gradviz._capture.recorder.assemble import assemble
from gradviz._capture.recorder.engine import RecordedEngine, RecordedLog
from gradviz._capture.recorder.flow_of_log import FlowOfLog
from gradviz._capture.recorder.fold import note_of
from gradviz._capture.recorder.from_log import GraphFromLog
from gradviz._capture.recorder.raw import KEPT_STEPS, Keep, RawEvent, Recording
from gradviz._capture.recorder.steps import last_passes, of_passes
from gradviz.program.events import Backward, Event
from gradviz.program.values import Node

MAX_NODES = 20_000
"""Steps are left out, oldest first, beyond this many nodes."""

RAISED = "The recorded code raised {}"
NO_GRADIENTS = (
    "No operation with a gradient was recorded: nothing in the block required one, or "
    "grad mode was off."
)

_MANY = 100  # operations left out, before a note says so


class Recorder:
    """Holds what happened between ``begin`` and ``end``.

    It reads the log that is open already, or opens one of its own. A step ends with a
    backward pass; the last ``steps`` of them are in the snapshot.
    """

    def __init__(
        self,
        engine: RecordedEngine,
        *,
        title: str = "",
        values: bool = True,
        steps: int = KEPT_STEPS,
        max_nodes: int = MAX_NODES,
        detail: Detail | None = None,
        keep: Keep | None = None,
    ) -> None:
        self.engine = engine
        self.title = title
        self.values = values
        self.steps = steps
        self.max_nodes = max_nodes
        self.detail = detail or Detail("full")
        self.keep = keep or Keep(on=False)
        self._notes: list[str] = []
        self.routine: list[str] = []  # of the last snapshot's notes
        self._error = ""  # that left the recorded code
        self._passes_before = 0  # the recording
        self.first = 0  # index of the first event that belongs to the recording
        self._last: int | None = None  # index after the last one, once it is over
        self.log: RecordedLog | None = None
        self.flow: FlowOfLog | None = None
        self._own: RecordedLog | None = None
        self._frame: FrameType | None = None
        self._holders: dict[int, tuple[str, ...]] = {}  # by the tensor's number
        self._hooks: dict[int, tuple[Hook, ...]] = {}  # of leaves, likewise

    def begin(self, frame: FrameType | None, log: Any = None) -> None:
        """Start to listen, by a log that is open if there is one."""
        found: RecordedLog | None = log or self.engine.innermost()
        if found is None:
            found = self._own = self.engine.open(self.values, self.detail)
            found.__enter__()
        self.keep = replace(self.keep, on=self.keep.on and self.values)
        self.engine.watch(found, self.steps, self.keep.on)
        self._frame = frame
        self.log, self.first, self._last = found, found.next_index, None
        self.flow = FlowOfLog(found, self.first)
        self._passes_before = found.passes_over

    def end(self, error: BaseException | None) -> None:
        """Stop to listen."""
        if self.log is None or self.flow is None:
            return
        self.log.refresh()
        self._last = self.log.next_index
        self.flow.close()
        self._note_holders(self.log)
        if error is not None and not isinstance(error, SystemExit):
            self._error = f"{type(error).__name__}: {error}"
            self._notes.append(RAISED.format(self._error))
        if self._own is not None:
            trace = None if error is None else error.__traceback__
            self._own.__exit__(None if error is None else type(error), error, trace)

    def _note_holders(self, log: RecordedLog) -> None:
        """Note which names hold the tensors that are alive, and the hooks on leaves."""
        log.pause()
        try:
            names = holders_in(self._frame, self.engine.tensor_type)
            living = list(log.tensors.alive())
            self._holders = {n: names[id(t)] for n, t in living if id(t) in names}
            found = {number: self.engine.hooks_of(each) for number, each in living}
            self._hooks = {n: hooks for n, hooks in found.items() if hooks is not None}
        finally:
            self._frame = None
            log.resume()

    @property
    def passes(self) -> int:
        """How many passes ended while it recorded, looked at in full or not."""
        return 0 if self.log is None else self.log.passes_over - self._passes_before

    def snapshot(self) -> ir.Snapshot:
        """Return what was recorded so far."""
        log, flow = self.log, self.flow
        if log is None or flow is None:
            raise RuntimeError("this recorder has not begun to record")
        if self._last is None:
            log.refresh()
        events = self._events(log, self._last)
        passes = [event for event in events if isinstance(event, Backward)]
        shown = self._shown(passes)
        recording, graph, aside = self._recording(
            log, events, passes, shown, self.keep.on
        )
        recording.samples, recording.keep = graph.samples, self.keep
        recording.notes += self._notes
        if self._error:
            ended = max([each.time_ns for each in recording.events], default=0)
            recording.events.append(RawEvent("error", ended, text=self._error))
        self.routine = routine = recording.routine
        if aside >= _MANY:
            routine.append(
                f"{aside:,} operations that no gradient passes through, such as those "
                "that prepare data, are left out of the events."
            )
        recording.flow = flow.steps_with(graph.nodes)
        if self.passes > 1:
            told = [*shown, *passes[-1:]]
            recording.flow = flow.with_steps_of(recording.flow, told)
        recording.flow_forgotten = flow.forgotten
        recording.flow_unreached = flow.unreached(graph.nodes)
        if self.passes > len(shown):
            routine.append(_kept(self.passes, shown, passes))
        notes = flow.note(), log.detail.note()
        routine += [each for each in notes if each is not None]
        counts = [raw.count for raw in recording.nodes if raw.count > 1]
        if counts:
            total = sum(raw.count for raw in recording.nodes)
            routine.append(note_of(total, counts))
        recording.notes += graph.facts.notes(graph.nodes, graph.bare)
        if not recording.nodes:
            recording.notes.append(NO_GRADIENTS)
        return assemble(recording)

    def _shown(self, passes: list[Backward]) -> list[Backward]:
        """Return the last passes to show: as many as wanted, if they are small.

        Those that were looked at in brief have little to show; where there are others,
        they are left out, but for one that raised.
        """
        told = [each for each in passes if (each.runs and each.whole) or each.error]
        told = told or [each for each in passes if each.runs] or passes
        shown, count = list[Backward](), 0
        for each in reversed(last_passes(told, self.steps)):
            count += each.node_count - len(each.leaves)
            if shown and count > self.max_nodes:
                break
            shown.insert(0, each)
        return shown

    def recording_until(self, last: Backward | None) -> tuple[Recording, GraphFromLog]:
        """Return the step that ended with a pass; before the first pass, all so far."""
        if self.log is None:
            raise RuntimeError("this recorder has not begun to record")
        events = self._events(self.log, None if last is None else last.index + 1)
        passes = [event for event in events if isinstance(event, Backward)]
        return self._recording(self.log, events, passes, passes[-1:])[:2]

    def _events(self, log: RecordedLog, end: int | None) -> list[Event]:
        return [
            event
            for event in list(log.program.events)
            if event.index >= self.first and (end is None or event.index < end)
        ]

    def _recording(
        self,
        log: RecordedLog,
        events: list[Event],
        passes: list[Backward],
        shown: list[Backward],
        keeps: bool = False,
    ) -> tuple[Recording, GraphFromLog, int]:
        """Return the steps of some passes, what translated them, and how many
        operations beside the graph were left out."""
        facts = self.engine.facts(log)
        facts.settle()
        kept = events
        if len(shown) < len(passes):
            kept = of_passes(events, {each.index for each in shown}, log.program.gaps)
        nodes = _nodes_of(kept, log.program.nodes, log.size.unwalked)
        last = [root.node for event in shown[-1:] for root in event.roots]
        roots = [key for key in last if key is not None] or _ends(nodes)
        graph = GraphFromLog(log, facts, self._holders, self._hooks, keeps)
        first = kept[0].index if kept else 0
        earlier = [event for event in events if event.index < first]
        told, aside = without_asides(kept, nodes.values())
        return (
            graph.recording(self.title, told, nodes, roots, earlier),
            graph,
            aside,
        )


def _kept(count: int, shown: list[Backward], passes: list[Backward]) -> str:
    """Say which of so many passes are in a recording."""
    kept = len(shown)
    looked = "that was" if kept == 1 else "that were"
    which = "" if shown == passes[-kept:] else f" {looked} looked at in full"
    last = f"last {kept}{which} are" if kept > 1 else f"last one{which} is"
    return f"{count:,} passes were recorded; the {last} kept."


def _nodes_of(
    events: list[Event], known: dict[int, Node], unwalked: tuple[int, ...]
) -> dict[int, Node]:
    """Return the nodes that these events made or walked, and the leaves they end at."""
    found = {key: known[key] for key in unwalked if key in known}
    for event in events:
        keys: Any = getattr(event, "nodes", ())
        for key in keys:
            if key in known and known[key].count:
                found[key] = known[key]
    for node in list(found.values()):
        for edge in node.next:
            if edge is not None and edge[0] < 0 and edge[0] in known:
                leaf = known[edge[0]]
                if leaf.count:
                    found[leaf.key] = leaf
    return found


def _ends(nodes: dict[int, Node]) -> list[int]:
    """Return the nodes nobody consumed: where a backward pass would begin."""
    consumed = {edge[0] for node in nodes.values() for edge in node.next if edge}
    return [key for key, node in nodes.items() if key not in consumed and node.next]
