"""The gradients of leaves over the steps of a recording, for the flow tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from operator import itemgetter

from gradviz import ir
from gradviz._capture.recorder.raw import (
    RawFlowStep,
    RawNode,
    RawStatistics,
    RawUnreached,
    Recording,
    as_record,
    as_tuple,
)
from gradviz.flow.table import point_of

KEPT_FLOW_POINTS = 15_000
"""Beyond this many points, every other of the older steps is left out."""

FULL_STEPS = 8
"""So many of the last steps keep their histograms: 1 kB a point."""


class FlowLog:
    """Collects what leaves take in, one backward pass after the other."""

    def __init__(self) -> None:
        self.steps: list[RawFlowStep] = []
        self.passes = 0  # that ended, with leaves or without
        self.every = 1  # of older steps, those are kept whose number this divides
        self._count = 0
        self._leaves: list[RawNode] = []  # of the pass that is open
        self._summaries: list[RawStatistics] = []

    def add(self, time_ns: int, leaf: RawNode, summary: RawStatistics | None) -> None:
        """Note the gradient that a leaf took in; the first one begins a step."""
        if summary is None:
            return
        if not self._leaves:
            self.steps.append(RawFlowStep(time_ns, self._leaves, self._summaries))
        self._leaves.append(leaf)
        self._summaries.append(summary)
        self.steps[-1].time_ns = time_ns

    @property
    def forgotten(self) -> int:
        """How many passes have no step: they are too old, or reached no leaf."""
        return self.passes - len(self.steps)

    def end_pass(self) -> None:
        """Note that the pass is over; what lies far back is kept in short."""
        number, self.passes = self.passes, self.passes + 1
        if not self._leaves:
            return
        self.steps[-1].number = number
        self._count += len(self._leaves)
        before, last = self.steps[-2] if len(self.steps) > 1 else None, self.steps[-1]
        last.leaves, last.summaries = tuple(self._leaves), tuple(self._summaries)
        if before is not None and before.leaves == last.leaves:
            last.leaves = before.leaves
        self._leaves, self._summaries = [], []
        if len(self.steps) > FULL_STEPS:
            old = self.steps[-FULL_STEPS - 1]
            if (old.number or 0) % self.every:
                self._count -= len(self.steps.pop(-FULL_STEPS - 1).leaves)
            else:
                old.summaries = tuple([in_short(each) for each in old.summaries])
        if self._count > KEPT_FLOW_POINTS:
            self._thin_out()

    def _thin_out(self) -> None:
        """Leave out every other of the older steps, so that all of a run is seen."""
        older, last = self.steps[:-FULL_STEPS], self.steps[-FULL_STEPS:]
        kept = older
        while len(kept) == len(older) > 1:  # again, where their numbers have gaps
            self.every *= 2
            kept = [each for each in older if (each.number or 0) % self.every == 0]
        self.steps = [*kept, *last]
        self._count = sum(len(each.leaves) for each in self.steps)

    def stepped(self, event: int) -> None:
        """Note that an optimizer used the gradients of the last step."""
        if self.steps:
            last = self.steps[-1]
            last.stepped, last.updates = True, (*last.updates, event)


def in_short(summary: RawStatistics) -> RawStatistics:
    """Return a summary without its histogram and spread."""
    record = as_record(summary)
    if not record.histogram and isinstance(summary, tuple):
        return summary
    return as_tuple(replace(record, std=None, histogram=()))


@dataclass(frozen=True, slots=True)
class FlowTables:
    """The three tables of a snapshot that say how gradients flow over the steps."""

    layers: tuple[ir.FlowLayer, ...] = ()
    steps: tuple[ir.FlowStep, ...] = ()
    points: tuple[ir.FlowPoint, ...] = ()


def flow_tables(
    recording: Recording,
    nodes: Sequence[ir.OpNode],
    numbers: Mapping[int, int],
    add_statistics: Callable[[RawStatistics], int],
) -> FlowTables:
    """Return the tables; ``numbers`` maps the id of a leaf's record to its row.

    Leaves are layers in the order in which the model uses them: the gradient reaches
    the last one first. Parameters that no gradient reached come after them.
    """
    flow = recording.flow
    leaves: dict[int, tuple[RawNode, int]] = {}  # with the elements of its gradient
    for step in flow:
        for leaf, raw in zip(step.leaves, step.summaries, strict=True):
            if id(leaf) not in leaves:
                leaves[id(leaf)] = leaf, as_record(raw).count
    order = [leaf for leaf, _ in reversed(leaves.values())]
    rows = {id(leaf): row for row, leaf in enumerate(order)}
    layers = (
        *(_layer(leaf, leaves[id(leaf)][1], numbers, nodes) for leaf in order),
        *(_unreached(each, numbers, nodes) for each in recording.flow_unreached),
    )
    steps: list[ir.FlowStep] = []
    points: list[ir.FlowPoint] = []
    numbers_of_steps = step_numbers(flow, recording.flow_forgotten)
    for at, step in enumerate(flow):
        before = flow[at - 1].time_ns if at else None
        steps.append(
            ir.FlowStep(
                number=numbers_of_steps[at],
                time_ns=step.time_ns,
                step_ns=None if before is None else step.time_ns - before,
                stepped=step.stepped,
            )
        )
        reached = map(rows.__getitem__, map(id, step.leaves))
        changes = step.changes or (None,) * len(step.leaves)
        seen = zip(step.summaries, changes, strict=True)
        by_layer = dict(zip(reached, seen, strict=True))
        for layer, (raw, change) in sorted(by_layer.items(), key=itemgetter(0)):
            summary = as_record(raw)
            full = add_statistics(raw) if summary.histogram else None
            point = point_of(summary, at, layer, full)
            if change is not None:
                point = replace(point, weight_norm=change[0], update_norm=change[1])
            points.append(point)
    return FlowTables(layers, tuple(steps), tuple(points))


def step_numbers(steps: Sequence[RawFlowStep], first: int) -> list[int]:
    """Return the numbers of steps; ``first`` is that of the first if it has none."""
    numbers: list[int] = []
    for step in steps:
        follows = numbers[-1] + 1 if numbers else first
        numbers.append(follows if step.number is None else step.number)
    return numbers


def _layer(
    leaf: RawNode, count: int, numbers: Mapping[int, int], nodes: Sequence[ir.OpNode]
) -> ir.FlowLayer:
    """Return the row of a leaf; ``count`` holds where its tensor is in no graph."""
    row = numbers.get(id(leaf))
    tensor = leaf.outputs[0] if leaf.outputs else None
    return ir.FlowLayer(
        name=leaf.call or (tensor.name if tensor is not None else None) or leaf.name,
        kind="" if leaf.scope is None else leaf.scope.kind,
        count=count if tensor is None else prod(tensor.shape),
        node=row,
        tensor=None if row is None else next(iter(nodes[row].outputs), None),
    )


def _unreached(
    raw: RawUnreached, numbers: Mapping[int, int], nodes: Sequence[ir.OpNode]
) -> ir.FlowLayer:
    return replace(_layer(raw.leaf, raw.count, numbers, nodes), frozen=raw.frozen)
