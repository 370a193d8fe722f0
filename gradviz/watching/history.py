"""The looks that are kept: all of the last ones, fewer the longer ago."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from gradviz import ir

ROWS = 256
POINTS = 100_000
PICTURES = 6  # rows with histograms

FIELDS = (
    "norm",
    "largest",
    "zeros",
    "nans",
    "infs",
    "weight_norm",
    "update_norm",
    "local_norm",
)
_COUNTS = ("zeros", "nans", "infs")


@dataclass(slots=True)
class Row:
    """One look: numbers by layer, in the order of :data:`FIELDS`; NaN: unknown."""

    step: ir.FlowStep
    values: NDArray[np.float64]
    statistics: dict[int, ir.Statistics] = field(
        default_factory=dict[int, ir.Statistics]
    )
    marked: bool = False  # something began here: it is kept longer


class History:
    """A bounded list of rows: the longer ago, the wider apart.

    >>> history = History(rows=16)
    >>> for number in range(1000):
    ...     history.add(Row(ir.FlowStep(number), np.zeros((1, len(FIELDS)))))
    >>> [row.step.number for row in history.rows][-4:], len(history.rows) <= 16
    ([954, 970, 986, 999], True)
    >>> history.rows[0].step.number, history.seen
    (0, 1000)
    """

    def __init__(self, rows: int = ROWS, points: int = POINTS) -> None:
        self.rows: list[Row] = []
        self.seen = 0
        self._most_rows = max(rows, 8)
        self._most_points = points

    def add(self, row: Row) -> None:
        """Append a row; drop older ones when there are too many."""
        self.rows.append(row)
        self.seen += 1
        room = min(
            self._most_rows, max(8, self._most_points // max(len(row.values), 1))
        )
        while len(self.rows) > room:
            del self.rows[_least_missed(self.rows)]
        drawn = [row for row in self.rows if row.statistics]
        while len(drawn) > PICTURES:
            drawn.pop(_least_missed(drawn)).statistics = {}

    # ---- as tables ------------------------------------------------------------------

    def tables(
        self,
    ) -> tuple[
        tuple[ir.FlowStep, ...], tuple[ir.FlowPoint, ...], tuple[ir.Statistics, ...]
    ]:
        """Return the rows as the tables of a snapshot."""
        steps: list[ir.FlowStep] = []
        points: list[ir.FlowPoint] = []
        statistics: list[ir.Statistics] = []
        for row in list(self.rows):  # a live view asks from its own thread
            for layer, values in enumerate(row.values.tolist()):
                full = row.statistics.get(layer)
                point = _point(len(steps), layer, values)
                if full is not None:
                    point = replace(point, gradient=len(statistics))
                    statistics.append(full)
                points.append(point)
            steps.append(row.step)
        return tuple(steps), tuple(points), tuple(statistics)


def point_of_row(row: Row, layer: int) -> ir.FlowPoint:
    """Return what a row saw of a layer; its step is the only one, 0."""
    return _point(0, layer, row.values[layer].tolist())


def _least_missed(rows: list[Row]) -> int:
    """Return which row leaves the smallest gap; neither the first nor the last one.

    Gaps count the less the longer ago they are, down to a sixteenth of the whole: then
    the last steps are dense and the beginning is still there.
    """
    numbers = [row.step.number for row in rows]
    last, span = numbers[-1], numbers[-1] - numbers[0] + 1
    gaps = [
        (after - before) / (last - here + span / 16) * (4 if row.marked else 1)
        for before, here, after, row in zip(
            numbers[:-2], numbers[1:-1], numbers[2:], rows[1:-1], strict=True
        )
    ]
    return min(range(len(gaps)), key=gaps.__getitem__) + 1


def _point(step: int, layer: int, values: list[float]) -> ir.FlowPoint:
    known = {
        name: int(value) if name in _COUNTS else value
        for name, value in zip(FIELDS, values, strict=True)
        if not math.isnan(value)
    }
    return ir.FlowPoint(step, layer, **known)  # pyright: ignore[reportArgumentType]
