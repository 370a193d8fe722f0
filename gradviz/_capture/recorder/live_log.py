"""What a live view follows: the last pass in the log, as it changes."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from gradviz._capture.recorder.from_log import statistics_of
from gradviz._capture.recorder.live import Slots, StepSource
from gradviz._capture.recorder.raw import RawFlowStep, RawNode, Recording
from gradviz._capture.recorder.recorder import Recorder
from gradviz.live import Progress
from gradviz.program.events import Backward
from gradviz.program.values import Node, NodeRun


class LogSource(StepSource):
    """Follows a recording of one engine.

    The log only grows, and what is read of it here is complete when it is added. Where
    something is changed meanwhile nevertheless, the feed looks again.
    """

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder
        self._keys: dict[int, int] = {}  # id of a leaf's record -> key
        self._held: Backward | None = None  # the pass that is being read
        log = recorder.log
        self._facts = None if log is None else recorder.engine.facts(log)
        if log is not None:
            log.program.number_of = recorder.engine.number_of
        self._known = 0 if self._facts is None else self._facts.count()

    def version(self) -> int:
        log, facts = self._recorder.log, self._facts
        if log is None or facts is None:
            return 0
        if self._newest() is not None:
            if self._recorder.flow is not None:
                self._recorder.flow.hear()
            return log.passes_over
        return self._known - facts.count()

    @contextmanager
    def hold(self) -> Generator[None, None, None]:
        """Read one pass, though the log goes on meanwhile."""
        if self._facts is None:
            yield
            return
        with self._facts.reading():
            held = self._held = self._newest()
            self._facts.settle(held.nodes if held and held.nodes else None)
            yield

    def record(self) -> Recording:
        last = self._held
        recording, graph = self._recorder.recording_until(last)
        for key, raw in graph.nodes.items():
            if raw.kind == "accumulate":
                self._keys[id(raw)] = key
        flow = self._recorder.flow
        if flow is not None:
            recording.flow = flow.steps_with(graph.nodes)
            recording.flow_forgotten = flow.forgotten
            recording.flow_unreached = flow.unreached(graph.nodes)
        self._graph = graph  # its records are known by their address
        return recording

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
        flow = self._recorder.flow
        return ((), 0) if flow is None else (flow.steps(), flow.forgotten)

    def progress(self) -> Progress:
        """See :class:`gradviz.live.Source`. Steps seen in brief count, too."""
        log = self._recorder.log
        return Progress(
            self._recorder.passes, None if log is None else log.program.loss
        )

    def leaf_key(self, leaf: RawNode) -> int:
        flow = self._recorder.flow
        known = None if flow is None else flow.key(leaf)
        return self._keys.get(id(leaf), 0) if known is None else known

    def _newest(self) -> Backward | None:
        log = self._recorder.log
        last = None if log is None else log.last_pass
        return last if last is not None and last.index >= self._recorder.first else None
