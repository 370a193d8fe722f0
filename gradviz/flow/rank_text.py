"""The processes of one training side by side as text: who differs, times, norms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

import numpy as np

from gradviz import ir
from gradviz.flow.rank_words import (
    named_ranks,
    number_text,
    sentence,
    span,
    spans,
)
from gradviz.flow.ranks import Kind, Norms, Record, layer_names, record_of
from gradviz.text.words import aligned, clean, counted

_MOST_LAYERS = 20
_MOST_RANKS = 6  # columns of the table of gradients
_STATE = 60  # characters


def verdict_text(snapshot: ir.Snapshot) -> str:
    """Return in one sentence which processes of a merged recording are not like most.

    >>> from gradviz import ir
    >>> seen = [ir.Process(rank, steps=9) for rank in range(3)]
    >>> lost = ir.Process(3, state="no file")
    >>> verdict_text(ir.Snapshot("demo", processes=(*seen, lost)))
    '4 ranks: rank 3: no file; nothing sets the other 3 apart.'
    """
    groups = groups_of(snapshot.processes)
    total = counted(len(snapshot.processes), "rank")
    if [*groups] == [""]:
        steps = max(each.steps or 0 for each in snapshot.processes)
        layers = counted(len(snapshot.flow_layers), "parameter")
        if not snapshot.findings:
            return f"The {total} agree: {counted(steps, 'step')}, {layers}."
        return f"{total}: nothing sets one apart from the others."
    parts = [
        f"{named_ranks([each.rank for each in group])}: {clean(state, 2 * _STATE)}"
        for state, group in groups.items()
        if state
    ]
    if alike := groups.get("", []):
        who = (
            named_ranks([alike[0].rank])
            if len(alike) == 1
            else (f"the other {len(alike):,}")
        )
        parts.append(f"nothing sets {who} apart")
    return sentence(f"{total}: {'; '.join(parts).rstrip('.')}.")


def groups_of(processes: Sequence[ir.Process]) -> dict[str, list[ir.Process]]:
    """Return the processes by what sets them apart, the largest group first."""
    groups: dict[str, list[ir.Process]] = {}
    for process in processes:
        groups.setdefault(process.state, []).append(process)
    return dict(sorted(groups.items(), key=lambda item: (item[0] != "", -len(item[1]))))


def ranks_text(snapshot: ir.Snapshot) -> str:
    """Return the processes side by side: their times, then their last gradients.

    Processes that nothing sets apart share a row. Of the parameters only those that
    differ most are shown.
    """
    records = _records(snapshot)
    lines = [*aligned(_rows(snapshot))]
    if common := _common(records):
        lines += ["", *aligned(_gradients(records, common[-1], layer_names(snapshot)))]
        if len(snapshot.flow_layers) > _MOST_LAYERS:
            more = len(snapshot.flow_layers) - _MOST_LAYERS
            lines.append(f"… {counted(more, 'more parameter')}")
    return "\n".join(lines)


def _common(records: Sequence[Record]) -> list[int]:
    """Return the steps at which all of some processes were looked at."""
    sets = [{*record.numbers} for record in records]
    return sorted(set.intersection(*sets)) if sets else []


def _rows(snapshot: ir.Snapshot) -> list[tuple[str, ...]]:
    """Return the table of the processes: one by one while they are few."""
    table = [("rank", "steps", "step", "backward", "waits", "")]
    if len(snapshot.processes) <= _MOST_RANKS:
        groups = [(each.state, [each]) for each in snapshot.processes]
    else:
        groups = [*groups_of(snapshot.processes).items()]
    for state, group in groups:
        steps = sorted({each.steps for each in group if each.steps is not None})
        is_rest = not state and len(group) > _MOST_RANKS
        table.append(
            (
                f"the other {len(group):,}"
                if is_rest
                else spans(each.rank for each in group),
                "–".join(
                    f"{end:,}" for end in dict.fromkeys([*steps[:1], *steps[-1:]])
                ),
                span(_middle([each.step_ns for each in group])),
                span(_middle([each.backward_ns for each in group])),
                span(_middle([each.wait_ns for each in group])),
                clean(state, _STATE),
            )
        )
    return table


def _middle(values: Sequence[int | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(median(known)) if known else None


# ---- gradients -----------------------------------------------------------------------


def _records(snapshot: ir.Snapshot) -> list[Record]:
    """Return the records of the ranks whose gradients are there, the odd ones first."""
    rows: dict[int, list[int]] = {}
    for row, step in enumerate(snapshot.flow_steps):
        rows.setdefault(-1 if step.rank is None else step.rank, []).append(row)
    odd = {each.rank for each in snapshot.processes if each.state}
    shown = sorted(rows, key=lambda rank: (rank in odd, rank))
    records: list[Record] = []
    points: dict[int, list[ir.FlowPoint]] = {}
    for point in snapshot.flow:
        rank = snapshot.flow_steps[point.step].rank
        points.setdefault(-1 if rank is None else rank, []).append(point)
    most = max((len(numbers) for numbers in rows.values()), default=0)
    for rank in shown:
        if len(rows[rank]) * 2 < most:  # it stopped early: little is in common with it
            continue
        own = {row: place for place, row in enumerate(rows[rank])}
        part = ir.Snapshot(
            snapshot.producer,
            flow_layers=tuple(
                ir.FlowLayer(layer.name, count=layer.count)
                for layer in snapshot.flow_layers
            ),
            flow_steps=tuple(snapshot.flow_steps[row] for row in rows[rank]),
            flow=tuple(
                ir.FlowPoint(
                    own[point.step],
                    point.layer,
                    norm=point.norm,
                    nans=point.nans,
                    infs=point.infs,
                    local_norm=point.local_norm,
                )
                for point in points.get(rank, ())
            ),
        )
        records.append(record_of(part, rank))
    return records[:_MOST_RANKS]


def _gradients(
    records: Sequence[Record], number: int, names: Sequence[str]
) -> list[tuple[str, ...]]:
    """Return the table of the gradients at one step, before and after the average."""
    averaged = any("after" in record.norms for record in records)
    heading = [f"gradient at step {number:,}"]
    heading += [f"rank {record.rank}" for record in records]
    rows = [(record.norms, record.numbers.index(number)) for record in records]
    kept = sorted(range(len(names)), key=lambda layer: -_spread(rows, layer))
    table = [tuple([*heading, "averaged"] if averaged else heading)]
    for layer in sorted(kept[:_MOST_LAYERS]):
        cells = [number_text(float(norms["before"][row, layer])) for norms, row in rows]
        if averaged:
            after = {
                number_text(float(norms["after"][row, layer]))
                for norms, row in rows
                if "after" in norms
            }
            cells.append(" / ".join(sorted(after)[:3]))
        table.append((clean(names[layer], 48), *cells))
    return table


def _spread(rows: Sequence[tuple[dict[Kind, Norms], int]], layer: int) -> float:
    values = np.array([norms["before"][row, layer] for norms, row in rows])
    if not np.isfinite(values).all():
        return math.inf
    low = float(values.min())
    return float(values.max()) / low if low else 0.0
