"""The flow of a snapshot as matrices: one row per parameter, one column per step."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gradviz import ir

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Flow:
    """The gradients of one process; matrices have the shape (layers, steps).

    What was not measured is NaN: a parameter without a gradient, a step at which no
    optimizer changed it.
    """

    layers: tuple[ir.FlowLayer, ...]
    steps: tuple[ir.FlowStep, ...]
    points: tuple[tuple[ir.FlowPoint | None, ...], ...]  # by layer, then by step
    statistics: tuple[ir.Statistics, ...]
    ranks: tuple[int, ...] = ()  # the processes that the snapshot has

    @cached_property
    def numbers(self) -> list[int]:
        """The numbers of the steps."""
        return [step.number for step in self.steps]

    @cached_property
    def norms(self) -> Matrix:
        """The L2 norms of the gradients."""
        return self._matrix(lambda point: point.norm)

    @cached_property
    def scale(self) -> Matrix:
        """The root mean square of the gradients' elements.

        Large parameters have large norms; this compares them with small ones.
        """
        counts = np.array([max(layer.count, 1) for layer in self.layers], np.float64)
        return self.norms / np.sqrt(counts)[:, None]

    @cached_property
    def ratios(self) -> Matrix:
        """What each step changed of a parameter, as a share of its norm."""
        return self._matrix(ratio)

    @cached_property
    def bad(self) -> Matrix:
        """The number of elements that are NaN or infinite."""
        return self._matrix(lambda point: float(point.nans + point.infs))

    def histogram(self, layer: int, step: int) -> ir.Statistics | None:
        """Return the full statistics of a gradient, where they were taken."""
        point = self.points[layer][step]
        if point is None or point.gradient is None:
            return None
        found = self.statistics[point.gradient]
        return found if found.histogram else None

    def _matrix(self, read: Callable[[ir.FlowPoint], float | None]) -> Matrix:
        rows = [
            [
                math.nan if point is None or (value := read(point)) is None else value
                for point in row
            ]
            for row in self.points
        ]
        shape = (len(self.layers), len(self.steps))
        return np.array(rows, np.float64).reshape(shape)


def ratio(point: ir.FlowPoint) -> float | None:
    """Return the norm of an update over the norm of what it changed."""
    if point.update_norm is None or not point.weight_norm:
        return None
    return point.update_norm / point.weight_norm


def flow_of(snapshot: ir.Snapshot, rank: int | None = None) -> Flow:
    """Return the flow of one process in a snapshot; of the first if none is named.

    A snapshot without a history is one step: the gradients that reached its leaves.

    >>> from gradviz import ir
    >>> layers, steps = (ir.FlowLayer("w", count=4),), (ir.FlowStep(7),)
    >>> points = (ir.FlowPoint(0, 0, norm=2.0, weight_norm=10.0, update_norm=0.01),)
    >>> flow = flow_of(ir.Snapshot("demo", flow_layers=layers, flow_steps=steps,
    ...                            flow=points))
    >>> flow.norms.tolist(), flow.scale.tolist(), flow.ratios.tolist()
    ([[2.0]], [[1.0]], [[0.001]])
    """
    if not snapshot.flow:
        return _of_leaves(snapshot)
    ranks = sorted({step.rank for step in snapshot.flow_steps if step.rank is not None})
    told = {point.step for point in snapshot.flow}  # others are known by number alone
    known = {snapshot.flow_steps[row].rank for row in told}
    first = min((each for each in known if each is not None), default=None)
    wanted = first if rank is None else rank
    rows = [row for row in told if snapshot.flow_steps[row].rank == wanted]
    rows.sort(key=lambda row: snapshot.flow_steps[row].number)
    column = {row: place for place, row in enumerate(rows)}
    grid: list[list[ir.FlowPoint | None]] = [
        [None] * len(rows) for _ in snapshot.flow_layers
    ]
    for point in snapshot.flow:
        if point.step in column:
            grid[point.layer][column[point.step]] = point
    return Flow(
        snapshot.flow_layers,
        tuple(snapshot.flow_steps[row] for row in rows),
        tuple(map(tuple, grid)),
        snapshot.statistics,
        tuple(ranks),
    )


def _of_leaves(snapshot: ir.Snapshot) -> Flow:
    layers: list[ir.FlowLayer] = []
    points: list[tuple[ir.FlowPoint]] = []
    for row, node in enumerate(snapshot.nodes):
        reached = next((each for each in node.grad_outputs if each >= 0), None)
        if node.kind != "accumulate" or reached is None:
            continue
        found = snapshot.statistics[reached]
        tensor = next(iter(node.outputs), None)
        name = node.call or node.name
        layers.append(ir.FlowLayer(name, "", found.count, row, tensor))
        points.append((point_of(found, 0, len(points), reached),))
    steps = (ir.FlowStep(0),) if layers else ()
    return Flow(tuple(layers), steps, tuple(points), snapshot.statistics)


def point_of(
    found: ir.Statistics, step: int, layer: int, gradient: int | None
) -> ir.FlowPoint:
    """Return the point that the statistics of a gradient make."""
    ends = [abs(end) for end in (found.minimum, found.maximum) if end is not None]
    return ir.FlowPoint(
        step,
        layer,
        norm=found.norm,
        largest=max(ends, default=None),
        zeros=found.zeros,
        nans=found.nans,
        infs=found.infs,
        gradient=gradient,
    )
