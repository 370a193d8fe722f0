"""Puts the recordings of processes that train together into one.

Files are read one at a time: of each only its record stays, arrays of norms. What the
merged recording shows in full is read a second time, when it is known who differs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from gradviz import ir
from gradviz.analysis.merged_findings import FindingsOfRanks
from gradviz.diagnosis.attach import with_places
from gradviz.errors import GradvizError, SnapshotError
from gradviz.flow.rank_ends import Unreadable, ends
from gradviz.flow.rank_findings import compare
from gradviz.flow.rank_told import Told, states_of
from gradviz.flow.rank_words import named_ranks
from gradviz.flow.ranks import Ranks, Record, layer_names, record_of, site_of_call
from gradviz.snapshots import load

_RANK = re.compile(r"rank[-_]?(\d+)", re.IGNORECASE)

SHOWN = 16
"""Ranks whose gradients a merged recording keeps, where not all of them fit."""

POINTS = 400_000
"""Gradients that it keeps of them, in all."""

File: TypeAlias = str | os.PathLike[str] | ir.Snapshot


def merge(files: File | Iterable[File], *, title: str = "") -> ir.Snapshot:
    """Return the recordings of several processes as one, with what differs as findings.

    ``files`` are what each rank of one training wrote: ``gradviz.watch`` or ``gradviz
    run`` under ``torchrun``, or snapshots. The graph is that of the lowest rank, the
    gradients over the steps are everybody's; of more than 16 ranks, those of the ones
    that differ, and of one that stands for the others. Findings say which weights or
    averaged gradients differ between ranks, which rank computed a NaN, left a
    parameter unused, stopped early or waits for the others, and of which there is no
    file. A file that cannot be read is one of the findings. Raises GradvizError for
    fewer than two files, for two of the same rank, and where none can be read.

    >>> import gradviz
    >>> gradviz.merge(["gradviz-watch-rank0.json",
    ...                "gradviz-watch-rank1.json"])  # doctest: +SKIP
    """
    given = [files] if isinstance(files, str | os.PathLike | ir.Snapshot) else files
    found = _Files()
    for place, file in enumerate(given):
        found.add(place, file)
    found.check()
    ranks = Ranks([*found.records.values()])
    told = [*ends(ranks.records, found.unreadable), *compare(ranks)]
    states = states_of(told)
    like = _stand_ins(ranks.records, states)
    shown = [rank for rank in ranks.ranks if like[rank] is None]
    base = _snapshot(found.files[ranks.ranks[0]])
    merged = _with_flow(base, shown, found.files)
    merged = found.findings.put_into(merged, ranks.ranks)
    merged, causes = _with_causes(merged, told, found.files)
    order = {"error": 0, "warning": 1, "info": 2}
    findings = [*causes, *merged.findings]
    findings.sort(key=lambda finding: order[finding.severity])
    processes = tuple(_processes(ranks.records, states, like))
    return replace(
        merged,
        title=title or f"{merged.title or 'training'}, {len(processes)} ranks",
        findings=tuple(findings),
        notes=(
            *found.notes.values(),
            *found.findings.notes,
            *_folded(ranks.ranks, shown),
        ),
        processes=processes,
    )


class _Files:
    """What is known of the files, one after the other."""

    def __init__(self) -> None:
        self.files: dict[int, File] = {}
        self.records: dict[int, Record] = {}
        self.unreadable: list[Unreadable] = []
        self.findings = FindingsOfRanks()
        self.notes: dict[str, str] = {}  # by what they say, whatever the numbers
        self._equal: dict[object, object] = {}

    def add(self, place: int, file: File) -> None:
        """Read one more file, and keep what it says in short."""
        try:
            snapshot = _snapshot(file)
        except SnapshotError as error:
            told = _rank_in_name(file)
            self.unreadable.append(Unreadable(told, str(error)))
            return
        rank = _rank(place, file, snapshot)
        if rank in self.records:
            raise GradvizError(
                f"two of the files are of rank {rank}; name one file of each rank."
            )
        self.files[rank] = file
        record = record_of(snapshot, rank)
        self.records[rank] = replace(  # hundreds of ranks have one model and one graph
            record,
            layers=self._equal.setdefault(record.layers, record.layers),
            shapes=self._equal.setdefault(record.shapes, record.shapes),
            calls=self._equal.setdefault(record.calls, record.calls),
        )
        self.findings.add(rank, snapshot)
        for note in snapshot.notes:
            self.notes.setdefault(re.sub(r"\d+", "#", note), note)

    def check(self) -> None:
        """Raise GradvizError unless there is something to compare."""
        if not self.records and self.unreadable:
            raise GradvizError(self.unreadable[0].reason)
        # The file of one rank may say that there were others.
        alone = all((record.size or 1) < 2 for record in self.records.values())
        if len(self.records) + len(self.unreadable) < 2 and alone:
            raise GradvizError("name the files of at least two ranks.")


def _snapshot(file: File) -> ir.Snapshot:
    return file if isinstance(file, ir.Snapshot) else load(file)


def _rank(place: int, file: File, snapshot: ir.Snapshot) -> int:
    """Return whose recording this is: as it says, by the file's name, or by place."""
    ranks = {step.rank for step in snapshot.flow_steps if step.rank is not None}
    ranks |= {process.rank for process in snapshot.processes}
    if len(ranks) > 1:
        raise GradvizError("one of the files is merged already.")
    if ranks:
        return ranks.pop()
    told = _rank_in_name(file)
    return place if told is None else told


def _rank_in_name(file: File) -> int | None:
    name = "" if isinstance(file, ir.Snapshot) else Path(file).name
    told = _RANK.findall(name)
    return int(told[-1]) if told else None


# ---- whose gradients are kept --------------------------------------------------------


def _stand_ins(
    records: Sequence[Record], states: Mapping[int, str]
) -> dict[int, int | None]:
    """Return for each rank the one whose gradients are shown in its place.

    None for those that are shown themselves: all while they are few, else one of each
    kind and then the odd ones.
    """
    ranks = [record.rank for record in records]
    points = {
        record.rank: len(record.numbers) * len(record.layers) for record in records
    }
    if len(ranks) <= SHOWN and sum(points.values()) <= POINTS:
        return dict.fromkeys(ranks)
    first: dict[str, int] = {}
    for rank in ranks:
        first.setdefault(states.get(rank, ""), rank)
    odd = [rank for rank in ranks if rank in states]
    kept: list[int] = []
    room = POINTS
    for rank in dict.fromkeys([ranks[0], *first.values(), *odd]):
        if len(kept) < SHOWN and (not kept or points[rank] <= room):
            kept.append(rank)
            room -= points[rank]
    stands = {states.get(rank, ""): rank for rank in reversed(kept)}
    like: dict[int, int | None] = {}
    for rank in ranks:
        other = stands.get(states.get(rank, ""), kept[0])
        like[rank] = None if rank in kept else other
    return like


def _folded(ranks: Sequence[int], shown: Sequence[int]) -> list[str]:
    if len(shown) == len(ranks):
        return []
    kept = named_ranks(shown)
    return [f"Of {len(ranks):,} ranks the gradients of {kept} stand for all."]


def _processes(
    records: Sequence[Record],
    states: Mapping[int, str],
    like: Mapping[int, int | None],
) -> Iterable[ir.Process]:
    known = {record.rank: record for record in records}
    for rank in sorted({*known, *states}):
        record = known.get(rank)
        if record is None:
            yield ir.Process(rank, state=states[rank])
            continue
        times = (record.times.step, record.times.backward, record.times.wait)
        step_ns, backward_ns, wait_ns = (
            None if each is None else round(each) for each in times
        )
        yield ir.Process(
            rank,
            record.size,
            record.steps,
            like[rank],
            states.get(rank, ""),
            step_ns,
            backward_ns,
            wait_ns,
        )


# ---- tables --------------------------------------------------------------------------


def _with_flow(
    merged: ir.Snapshot, ranks: Sequence[int], files: Mapping[int, File]
) -> ir.Snapshot:
    """Return the snapshot with the flow of these ranks, one after the other."""
    layers: list[ir.FlowLayer] = []
    rows: dict[str, int] = {}
    steps: list[ir.FlowStep] = []
    points: list[ir.FlowPoint] = []
    statistics = list(merged.statistics)
    for rank in ranks:
        is_base = rank == min(files)
        part = merged if is_base else _snapshot(files[rank])
        numbers: list[int] = []
        for name, layer in zip(layer_names(part), part.flow_layers, strict=True):
            row = rows.get(name)
            if row is None:
                row = rows[name] = len(layers)
                known = layer if is_base else replace(layer, node=None, tensor=None)
                layers.append(known)
            numbers.append(row)
        for point in part.flow:
            gradient = point.gradient
            if gradient is not None and not is_base:
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
        loss_terms=(),
        term_shares=(),  # each rank has its own
        statistics=tuple(statistics),
    )


def _with_causes(
    merged: ir.Snapshot, told: Sequence[Told], files: Mapping[int, File]
) -> tuple[ir.Snapshot, list[ir.Finding]]:
    """Return the findings about ranks, and the snapshot with the lines they blame."""
    found: list[ir.Finding] = []
    for each in told:
        finding = each.finding
        if each.call is not None:
            rank, place = each.call
            part = _snapshot(files[rank])
            site = site_of_call(part, place)
            if site is not None:
                merged, rows = with_places(merged, [site], part.sources)
                finding = replace(finding, culprit=rows[0])
        found.append(finding)
    return merged, found
