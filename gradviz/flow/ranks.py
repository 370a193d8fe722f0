"""Processes that train one model together, side by side: where they differ, who waits.

A process knows of each gradient the norm it computed itself (``local_norm``) and, once
the processes have averaged it, the norm its optimizer used (``norm``). Recordings of
backward passes know only the former.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from gradviz import ir
from gradviz.flow.table import Flow, flow_of
from gradviz.text.words import aligned, clean, counted

SPREAD = "Parameters are spread over the processes: each shows only its own part."
"""The note of a watch on a model whose weights differ between ranks on purpose."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One parameter at one step in one process."""

    before: float | None  # None: no gradient; inf: NaN or Inf in it
    after: float | None
    weight: float | None


class Ranks:
    """The common steps of several processes, by number, layer and rank."""

    def __init__(self, snapshot: ir.Snapshot) -> None:
        found = {s.rank for s in snapshot.flow_steps if s.rank is not None}
        self.ranks = sorted(found)
        self.flows = {rank: flow_of(snapshot, rank) for rank in self.ranks}
        self.layers = snapshot.flow_layers
        self.spread = SPREAD in snapshot.notes
        sets = [set(flow.numbers) for flow in self.flows.values()]
        self.numbers: list[int] = sorted(set.intersection(*sets)) if sets else []
        self._columns = {
            rank: {number: place for place, number in enumerate(flow.numbers)}
            for rank, flow in self.flows.items()
        }

    def cells(self, layer: int, number: int) -> dict[int, Cell]:
        """Return what each process had of a parameter at a step."""
        found: dict[int, Cell] = {}
        for rank, flow in self.flows.items():
            point = flow.points[layer][self._columns[rank][number]]
            found[rank] = _cell(point, self._averages(rank))
        return found

    def _averages(self, rank: int) -> bool:
        """Tell whether a process saw its gradients before and after the average."""
        flow = self.flows[rank]
        return any(
            point is not None and point.local_norm is not None
            for row in flow.points
            for point in row
        )


def _cell(point: ir.FlowPoint | None, averages: bool) -> Cell:
    if point is None:
        return Cell(None, None, None)
    norm = math.inf if point.nans or point.infs else point.norm
    if averages:
        return Cell(point.local_norm, norm, point.weight_norm)
    return Cell(norm, None, point.weight_norm)


# ---- time --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Times:
    """Medians over the looked-at steps of one process, in nanoseconds."""

    step: float | None
    backward: float | None
    wait: float | None


def times_of(flow: Flow) -> Times:
    """Return how long a process takes for a step and its parts."""
    return Times(
        _median([step.step_ns for step in flow.steps]),
        _median([step.backward_ns for step in flow.steps]),
        _median([step.wait_ns for step in flow.steps]),
    )


def _median(values: Sequence[int | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(median(known)) if known else None


def span(ns: float | None) -> str:
    """Return a time in a unit that suits it.

    >>> span(1_500_000.0), span(None)
    ('1.5 ms', '–')
    """
    if ns is None:
        return "–"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"


def number_text(value: float | None) -> str:
    """Return a norm in words; None is a gradient that is not there."""
    if value is None:
        return "none"
    return "NaN/Inf" if math.isinf(value) else f"{value:.3g}"


_MOST_LAYERS = 20


def ranks_text(snapshot: ir.Snapshot) -> str:
    """Return the processes side by side: their times, then their last gradients.

    Of the parameters only those that differ most are shown.
    """
    ranks = Ranks(snapshot)
    common = f"{counted(len(ranks.numbers), 'step')} in common"
    if ranks.numbers:
        common += f", {ranks.numbers[0]:,} to {ranks.numbers[-1]:,}"
    lines = [f"{counted(len(ranks.ranks), 'rank')}, {common}", ""]
    table = [("rank", "looks", "step", "backward", "waits")]
    for rank, flow in ranks.flows.items():
        times = times_of(flow)
        spans = (span(times.step), span(times.backward), span(times.wait))
        table.append((str(rank), str(len(flow.steps)), *spans))
    lines += aligned(table)
    if ranks.numbers:
        lines += ["", *aligned(_gradients(ranks))]
        if len(ranks.layers) > _MOST_LAYERS:
            more = len(ranks.layers) - _MOST_LAYERS
            lines.append(f"… {counted(more, 'more parameter')}")
    return "\n".join(lines)


def _gradients(ranks: Ranks) -> list[tuple[str, ...]]:
    number = ranks.numbers[-1]
    rows = [(layer, ranks.cells(layer, number)) for layer in range(len(ranks.layers))]
    kept = sorted(rows, key=lambda row: -_spread(row[1]))[:_MOST_LAYERS]
    shown = ranks.ranks[:6]
    heading = [f"gradient at step {number:,}"]
    heading += [f"rank {rank}" for rank in shown]
    averaged = any(cell.after is not None for _, row in rows for cell in row.values())
    table = [tuple([*heading, "averaged"] if averaged else heading)]
    for layer, cells in sorted(kept):
        row = [clean(ranks.layers[layer].name, 48)]
        row += [number_text(cells[rank].before) for rank in shown]
        if averaged:
            after = {number_text(cell.after) for cell in cells.values()}
            row.append(" / ".join(sorted(after)[:3]))
        table.append(tuple(row))
    return table


def _spread(cells: dict[int, Cell]) -> float:
    known = [cell.before for cell in cells.values() if cell.before is not None]
    if len(known) < len(cells) or any(map(math.isinf, known)):
        return math.inf
    low = min(known)
    return max(known) / low if low else 0.0
