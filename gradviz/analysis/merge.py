"""Puts the recordings of processes that train together into one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from gradviz import ir
from gradviz.diagnosis.attach import with_places
from gradviz.errors import GradvizError
from gradviz.flow.rank_findings import compare
from gradviz.snapshots import load

_RANK = re.compile(r"rank[-_]?(\d+)", re.IGNORECASE)


def merge(
    files: Iterable[str | os.PathLike[str] | ir.Snapshot], *, title: str = ""
) -> ir.Snapshot:
    """Return the recordings of several processes as one, with what differs as findings.

    ``files`` are what each rank of one training wrote: ``gradviz.watch`` or ``gradviz
    run`` under ``torchrun``, or snapshots. The graph is that of the lowest rank, the
    gradients over the steps are everybody's. Findings say which weights or averaged
    gradients differ between ranks, which rank computed a NaN, left a parameter unused,
    or waits for the others. Raises GradvizError for fewer than two files, for two of
    the same rank, and for a file that cannot be read.

    >>> gradviz.merge(["gradviz-watch-rank0.json",
    ...                "gradviz-watch-rank1.json"])  # doctest: +SKIP
    """
    found: dict[int, ir.Snapshot] = {}
    given = [files] if isinstance(files, str | os.PathLike) else files
    for place, file in enumerate(given):
        rank, snapshot = _read(place, file)
        if rank in found:
            raise GradvizError(
                f"two of the files are of rank {rank}; name one file of each rank."
            )
        found[rank] = snapshot
    if len(found) < 2:
        raise GradvizError("name the files of at least two ranks.")
    ranks = sorted(found)
    merged = found[ranks[0]]
    for rank in ranks[1:]:
        merged = _with_findings(merged, rank, found[rank])
    merged = _with_flow(merged, [(rank, found[rank]) for rank in ranks])
    notes = dict.fromkeys(note for rank in ranks for note in found[rank].notes)
    merged = replace(
        merged,
        title=title or f"{merged.title or 'training'}, {len(ranks)} ranks",
        notes=tuple(notes),
    )
    order = {"error": 0, "warning": 1, "info": 2}
    findings = [*compare(merged), *merged.findings]
    findings.sort(key=lambda finding: order[finding.severity])
    return replace(merged, findings=tuple(findings))


def _read(
    place: int, file: str | os.PathLike[str] | ir.Snapshot
) -> tuple[int, ir.Snapshot]:
    snapshot = file if isinstance(file, ir.Snapshot) else load(file)
    ranks = {step.rank for step in snapshot.flow_steps if step.rank is not None}
    if len(ranks) > 1:
        raise GradvizError("one of the files is merged already.")
    if ranks:
        return ranks.pop(), snapshot
    name = "" if isinstance(file, ir.Snapshot) else Path(file).name
    told = _RANK.findall(name)
    return int(told[-1]) if told else place, snapshot


def _with_flow(
    merged: ir.Snapshot, parts: Sequence[tuple[int, ir.Snapshot]]
) -> ir.Snapshot:
    """Return the snapshot with the flow tables of all parts, one after the other."""
    layers: list[ir.FlowLayer] = []
    rows: dict[str, int] = {}
    steps: list[ir.FlowStep] = []
    points: list[ir.FlowPoint] = []
    statistics = list(merged.statistics)
    for rank, part in parts:
        is_first = rank == parts[0][0]
        numbers: list[int] = []
        for layer in part.flow_layers:
            row = rows.get(layer.name)
            if row is None:
                row = rows[layer.name] = len(layers)
                known = layer if is_first else replace(layer, node=None, tensor=None)
                layers.append(known)
            numbers.append(row)
        for point in part.flow:
            gradient = point.gradient
            if gradient is not None and not is_first:
                statistics.append(part.statistics[gradient])
                gradient = len(statistics) - 1
            points.append(
                replace(
                    point,
                    step=point.step + len(steps),
                    layer=numbers[point.layer],
                    gradient=gradient,
                )
            )
        steps += [replace(step, rank=rank) for step in part.flow_steps]
    points.sort(key=lambda point: (point.step, point.layer))
    return replace(
        merged,
        flow_layers=tuple(layers),
        flow_steps=tuple(steps),
        flow=tuple(points),
        statistics=tuple(statistics),
    )


def _with_findings(merged: ir.Snapshot, rank: int, part: ir.Snapshot) -> ir.Snapshot:
    """Return the snapshot with the findings of another rank that are not in it yet."""
    known = {(finding.code, finding.message) for finding in merged.findings}
    new = [each for each in part.findings if (each.code, each.message) not in known]
    if not new:
        return merged
    merged, numbers = with_places(merged, part.sites, part.sources)

    def moved(finding: ir.Finding) -> ir.Finding:
        culprit, symptom = finding.culprit, finding.symptom
        return replace(
            finding,
            message=f"Rank {rank}: {finding.message}",
            culprit=None if culprit is None else numbers[culprit],
            symptom=None if symptom is None else numbers[symptom],
            related=tuple(numbers[row] for row in finding.related),
            nodes=(),  # of a graph that is not here
            tensors=(),
            storages=(),
        )

    return replace(merged, findings=(*merged.findings, *map(moved, new)))
