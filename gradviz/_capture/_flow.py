"""The gradients of leaves over the steps of a recording, for the flow tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from gradviz import ir
from gradviz._capture._raw import RawFlowStep, RawNode, Recording
from gradviz.flow.table import point_of

KEPT_FLOW_POINTS = 100_000
"""Points of older steps are forgotten, oldest first, beyond this many."""

_FULL_STEPS = 8  # the last ones keep their histograms: 1 kB a point


class FlowLog:
    """Collects what leaves take in, one backward pass after the other."""

    def __init__(self) -> None:
        self.steps: list[RawFlowStep] = []
        self.forgotten = 0
        self._count = 0
        self._open = False

    def add(self, time_ns: int, leaf: RawNode, summary: ir.Statistics | None) -> None:
        """Note the gradient that a leaf took in; the first one begins a step."""
        if summary is None:
            return
        if not self._open:
            self.steps.append(RawFlowStep(time_ns))
            self._open = True
        step = self.steps[-1]
        step.time_ns = time_ns
        step.points.append((leaf, summary))
        self._count += 1

    def end_pass(self) -> None:
        """Note that the pass is over; what lies far back is kept in short."""
        if not self._open:
            return
        self._open = False
        if len(self.steps) > _FULL_STEPS:
            old = self.steps[-_FULL_STEPS - 1]
            old.points = [
                (leaf, replace(summary, histogram=(), std=None))
                for leaf, summary in old.points
            ]
        while self._count > KEPT_FLOW_POINTS and len(self.steps) > 1:
            self._count -= len(self.steps.pop(0).points)
            self.forgotten += 1

    def stepped(self) -> None:
        """Note that an optimizer used the gradients of the last step."""
        if self.steps:
            self.steps[-1].stepped = True


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
    add_statistics: Callable[[ir.Statistics], int],
) -> FlowTables:
    """Return the tables; ``numbers`` maps the id of a leaf's record to its row.

    Leaves are layers in the order in which the model uses them: the gradient reaches
    the last one first.
    """
    flow = recording.flow
    leaves = {id(leaf): leaf for step in flow for leaf, _ in step.points}
    order = [*reversed(leaves.values())]
    rows = {id(leaf): row for row, leaf in enumerate(order)}
    layers = tuple(_layer(leaf, numbers.get(id(leaf)), nodes) for leaf in order)
    steps: list[ir.FlowStep] = []
    points: list[ir.FlowPoint] = []
    for at, step in enumerate(flow):
        before = flow[at - 1].time_ns if at else None
        steps.append(
            ir.FlowStep(
                number=recording.flow_forgotten + at,
                time_ns=step.time_ns,
                step_ns=None if before is None else step.time_ns - before,
                stepped=step.stepped,
            )
        )
        by_layer = {rows[id(leaf)]: summary for leaf, summary in step.points}
        for layer in sorted(by_layer):
            summary = by_layer[layer]
            full = add_statistics(summary) if summary.histogram else None
            points.append(point_of(summary, at, layer, full))
    return FlowTables(layers, tuple(steps), tuple(points))


def _layer(leaf: RawNode, row: int | None, nodes: Sequence[ir.OpNode]) -> ir.FlowLayer:
    tensor = leaf.outputs[0] if leaf.outputs else None
    count = 1
    for size in tensor.shape if tensor is not None else ():
        count *= size
    return ir.FlowLayer(
        name=leaf.call or (tensor.name if tensor is not None else None) or leaf.name,
        kind="" if leaf.scope is None else leaf.scope.kind,
        count=count,
        node=row,
        tensor=None if row is None else next(iter(nodes[row].outputs), None),
    )
