"""What each of many processes did, in short, and what they have in common.

A process knows of each gradient the norm it computed itself (``local_norm``) and, once
the processes have averaged it, the norm its optimizer used (``norm``). Recordings of
backward passes know only the former.

Of hundreds of recordings only these records are in memory together: no rows of a
snapshot, but arrays of norms.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import PurePath
from statistics import median
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gradviz import ir

SPREAD = "Parameters are spread over the processes: each shows only its own part."
"""The note of a watch on a model whose weights differ between ranks on purpose."""

Norms: TypeAlias = NDArray[np.float32]
"""Steps by layers. NaN: there was no gradient; Inf: it held NaN or Inf."""

Kind = Literal["before", "after", "weight"]

Shape: TypeAlias = tuple[int, ...] | int
"""Of a parameter; of one that is in no graph, how many elements it has."""

OpCall: TypeAlias = tuple[str, str, int]
"""What a node of the graph belongs to: the call, the file, the line (0: not known)."""


@dataclass(frozen=True, slots=True)
class Times:
    """Medians over the looked-at steps of one process, in nanoseconds."""

    step: float | None
    backward: float | None
    wait: float | None


@dataclass(frozen=True, slots=True)
class Record:
    """What one process did."""

    rank: int
    size: int | None  # how many train together
    steps: int  # that it took, as far as it is known
    slack: int  # it may have taken so many more
    error: str  # "ValueError: …" if it raised
    spread: bool  # it holds only parts of the parameters
    numbers: tuple[int, ...]  # of the steps that were looked at
    layers: tuple[str, ...]
    shapes: tuple[Shape, ...]  # of the layers
    norms: dict[Kind, Norms]
    calls: tuple[OpCall, ...]  # of the recorded graph, in order
    passes: int  # that the graph is of: which were looked at in full is each rank's own
    times: Times


def record_of(snapshot: ir.Snapshot, rank: int) -> Record:
    """Return what the process did whose recording this is."""
    order = sorted(
        range(len(snapshot.flow_steps)), key=lambda row: snapshot.flow_steps[row].number
    )
    numbers = tuple(snapshot.flow_steps[row].number for row in order)
    own = next(iter(snapshot.processes), ir.Process(rank))
    steps, slack = own.steps, 0
    if steps is None:  # between two looks may lie as many as between any
        steps = 1 + max(numbers, default=-1)
        slack = 2 * max((b - a for a, b in pairwise(numbers)), default=1)
    return Record(
        rank=rank,
        size=own.size,
        steps=steps,
        slack=slack,
        error=error_of(snapshot),
        spread=SPREAD in snapshot.notes,
        numbers=numbers,
        layers=layer_names(snapshot),
        shapes=tuple(_shape(snapshot, layer) for layer in snapshot.flow_layers),
        norms=_norms(snapshot, order),
        calls=tuple(_calls(snapshot)),
        passes=sum(event.kind == "backward_begin" for event in snapshot.events),
        times=times_of(snapshot.flow_steps),
    )


def layer_names(snapshot: ir.Snapshot) -> tuple[str, ...]:
    """Return the names of the layers, with a number from the second of a name on."""
    seen: Counter[str] = Counter()
    names: list[str] = []
    for layer in snapshot.flow_layers:
        seen[layer.name] += 1
        count = seen[layer.name]
        names.append(layer.name if count == 1 else f"{layer.name}#{count}")
    return tuple(names)


def error_of(snapshot: ir.Snapshot) -> str:
    """Return the error that ended the recorded program; "" where none did."""
    errors = [event.text for event in snapshot.events if event.kind == "error"]
    return errors[-1] if errors else ""


def _shape(snapshot: ir.Snapshot, layer: ir.FlowLayer) -> Shape:
    if layer.tensor is None:
        return layer.count
    return snapshot.tensors[layer.tensor].shape


def _norms(snapshot: ir.Snapshot, order: Sequence[int]) -> dict[Kind, Norms]:
    place = {row: column for column, row in enumerate(order)}
    shape = len(order), len(snapshot.flow_layers)
    made, local, weight = (np.full(shape, math.nan, np.float32) for _ in range(3))
    averaged = False
    for point in snapshot.flow:
        at = place[point.step], point.layer
        norm = math.inf if point.nans or point.infs else point.norm
        made[at] = math.nan if norm is None else norm
        if point.weight_norm is not None:
            weight[at] = point.weight_norm
        if point.local_norm is not None:
            averaged = True
            local[at] = point.local_norm
    if averaged:  # the gradients were seen before and after
        return {"before": local, "after": made, "weight": weight}
    return {"before": made, "weight": weight}


def _calls(snapshot: ir.Snapshot) -> Iterator[OpCall]:
    for node in snapshot.nodes:
        if node.kind == "accumulate":  # in the order of their hooks, which may differ
            continue
        site = None if node.site is None else snapshot.sites[node.site]
        name = node.call or node.name
        file, line = ("", 0) if site is None else (PurePath(site.file).name, site.line)
        yield name, file, line


def site_of_call(snapshot: ir.Snapshot, place: int) -> ir.Site | None:
    """Return the line of one of the calls of a record."""
    nodes = [node for node in snapshot.nodes if node.kind != "accumulate"]
    site = nodes[place].site
    return None if site is None else snapshot.sites[site]


def times_of(steps: Sequence[ir.FlowStep]) -> Times:
    """Return how long a process takes for a step and its parts."""
    return Times(
        _median([step.step_ns for step in steps]),
        _median([step.backward_ns for step in steps]),
        _median([step.wait_ns for step in steps]),
    )


def _median(values: Sequence[int | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(median(known)) if known else None


# ---- side by side ------------------------------------------------------------------


class Ranks:
    """The records of several processes, their layers in common columns."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.records = sorted(records, key=lambda record: record.rank)
        self.ranks = [record.rank for record in self.records]
        self.spread = any(record.spread for record in self.records)
        rows = dict.fromkeys(name for r in self.records for name in r.layers)
        self.layers = list(rows)
        self._columns = {name: column for column, name in enumerate(self.layers)}

    @cached_property
    def looks(self) -> dict[int, list[tuple[int, int]]]:
        """The steps that can be compared: which processes looked, in which row.

        Each process chooses its steps. Those that too few of them chose cannot say who
        is the odd one; they count only where there are no others.
        """
        found: dict[int, list[tuple[int, int]]] = {}
        for place, record in enumerate(self.records):
            for row, number in enumerate(record.numbers):
                found.setdefault(number, []).append((place, row))
        common = {number: rows for number, rows in found.items() if len(rows) > 1}
        running = sorted(record.steps for record in self.records)
        most = {
            number: rows
            for number, rows in common.items()
            if 2 * len(rows) >= len(running) - np.searchsorted(running, number, "right")
        }
        return dict(sorted((most or common).items()))

    def norms(self, what: Kind, number: int) -> Norms:
        """Return processes by layers at a step, in the order of ``looks``."""
        rows = self.looks[number]
        found = np.full((len(rows), len(self.layers)), math.nan, np.float32)
        for at, (place, row) in enumerate(rows):
            record = self.records[place]
            if what in record.norms:
                found[at, self._own[place]] = record.norms[what][row]
        return found

    @cached_property
    def _own(self) -> list[NDArray[np.intp]]:
        return [
            np.array([self._columns[name] for name in record.layers], np.intp)
            for record in self.records
        ]
