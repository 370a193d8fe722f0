"""What a live view follows: the last pass in the log, as it changes."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from gradviz._capture.recorder.from_log import statistics_of
from gradviz._capture.recorder.gradient_flow import FlowLog
from gradviz._capture.recorder.live import Slots, StepSource
from gradviz._capture.recorder.raw import RawFlowStep, RawNode, Recording
from gradviz._capture.recorder.recorder import Recorder
from gradviz.program.events import Backward, OptimizerCall
from gradviz.program.values import Node, NodeRun


class LogSource(StepSource):
    """Follows a recording of one engine.

    The log only grows, and what is read of it here is complete when it is added. Where
    something is changed meanwhile nevertheless, the feed looks again.
    """

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder
        self._flow = FlowLog()
        self._heard = recorder.first  # index of the next event to hear of
        self._leaves: dict[int, RawNode] = {}  # stand-ins by key
        self._keys: dict[int, int] = {}  # id of a leaf's record -> key
        self._held: Backward | None = None  # the pass that is being read
        log = recorder.log
        self._facts = None if log is None else recorder.engine.facts(log)
        self._known = 0 if self._facts is None else self._facts.count()

    def version(self) -> int:
        log, facts = self._recorder.log, self._facts
        if log is None or facts is None:
            return 0
        if self._newest() is not None:
            return log.passes_over
        return self._known - facts.count()

    @contextmanager
    def hold(self) -> Generator[None, None, None]:
        """Read one pass, though the log goes on meanwhile."""
        if self._facts is None:
            yield
            return
        with self._facts.reading():
            self._held = self._newest()
            self._facts.settle()
            yield

    def record(self) -> Recording:
        last = self._held
        recording, graph = self._recorder.recording_until(last)
        self._hear()
        for key, raw in graph.nodes.items():
            if raw.kind == "accumulate":
                self._keys[id(raw)] = key
        recording.flow_forgotten = self._flow.forgotten
        recording.flow = [
            RawFlowStep(
                step.time_ns,
                [self._real(graph.nodes, leaf) for leaf in step.leaves],
                step.summaries,
                step.stepped,
            )
            for step in self._flow.steps
        ]
        self._graph = graph  # its records are known by their address
        return recording

    def _real(self, nodes: dict[int, RawNode], leaf: RawNode) -> RawNode:
        return nodes.get(self._keys[id(leaf)], leaf)

    def shape(self) -> Any:
        last = self._held
        if last is None or self._facts is None:
            return None
        values = self._facts.values
        return [
            (
                node.name if node is not None else "",
                [each.shape for each in values(node)] if node is not None else (),
                len(run.outgoing),
            )
            for run, node in self._turns(last)
        ]

    def slots(self) -> Slots:
        last, found = self._held, list[Any]()
        if last is None or self._facts is None:
            return found
        for run, node in self._turns(last):
            found += map(statistics_of, run.incoming)
            found += map(statistics_of, run.outgoing)
            if node is not None:
                values = self._facts.values(node)
                found += [statistics_of(value.summary) for value in values]
        return found

    def _turns(self, last: Backward) -> list[tuple[NodeRun, Node | None]]:
        """Return what ran in a pass, with the nodes."""
        log, facts = self._recorder.log, self._facts
        if log is None or facts is None:
            return []
        return [(run, log.program.nodes.get(run.node)) for run in last.runs]

    def flow(self) -> tuple[Sequence[RawFlowStep], int]:
        self._hear()
        return self._flow.steps, self._flow.forgotten

    def leaf_key(self, leaf: RawNode) -> int:
        return self._keys.get(id(leaf), 0)

    def _newest(self) -> Backward | None:
        log = self._recorder.log
        last = None if log is None else log.last_pass
        return last if last is not None and last.index >= self._recorder.first else None

    def _hear(self) -> None:
        """Take in the passes since the last time."""
        log = self._recorder.log
        if log is None:
            return
        news: list[Any] = []
        for event in reversed(log.program.events):
            if event.index < self._heard:
                break
            news.append(event)
        for event in reversed(news):
            if isinstance(event, Backward):
                if log.last_pass is None or event.index > log.last_pass.index:
                    return  # it is running
                self._hear_pass(event, log.times.get(event.index, 0))
            elif isinstance(event, OptimizerCall) and event.what == "step":
                self._flow.stepped()
            self._heard = event.index + 1

    def _hear_pass(self, event: Backward, time_ns: int) -> None:
        for run in event.runs:
            if run.node >= 0 or not run.incoming:
                continue  # not a leaf
            leaf = self._leaves.get(run.node)
            if leaf is None:
                leaf = RawNode("AccumulateGrad", "accumulate")
                self._leaves[run.node] = leaf
                self._keys[id(leaf)] = run.node
            self._flow.add(time_ns, leaf, statistics_of(run.incoming[0]))
        self._flow.end_pass()
