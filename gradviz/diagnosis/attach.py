"""Put the findings of a run into its snapshot, so that every view can show them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gradviz import ir
from gradviz.diagnosis.diagnose import Diagnosis


def with_findings(snapshot: ir.Snapshot, diagnosis: Diagnosis) -> ir.Snapshot:
    """Return the snapshot with the findings, their places, and the nodes they are at.

    A finding points at the nodes that its culprit or symptom line made, where the
    rule could not name them better, and at the memory of theirs that was overwritten.
    """
    snapshot, numbers = with_places(snapshot, diagnosis.sites, diagnosis.sources)
    nodes: dict[int, list[int]] = {}
    for row, node in enumerate(snapshot.nodes):
        if node.site is not None:
            nodes.setdefault(node.site, []).append(row)
    moved = (_moved(each, numbers, nodes) for each in diagnosis.findings)
    return replace(
        snapshot,
        findings=tuple(_with_memory(each, snapshot) for each in moved),
        notes=(*snapshot.notes, *diagnosis.notes),
    )


def with_places(
    snapshot: ir.Snapshot, sites: Iterable[ir.Site], sources: tuple[ir.Source, ...]
) -> tuple[ir.Snapshot, list[int]]:
    """Return the snapshot with these places added, and the row of each in it."""
    texts, source_rows = _merged_sources(snapshot, sources)
    found = list(snapshot.sites)
    rows = {_key(site): row for row, site in enumerate(found)}
    numbers: list[int] = []
    for site in sites:
        source = None if site.source is None else source_rows[site.source]
        row = rows.get(_key(site))
        if row is None:
            row = rows[_key(site)] = len(found)
            found.append(replace(site, source=source))
        numbers.append(row)
    return replace(snapshot, sites=tuple(found), sources=texts), numbers


def _merged_sources(
    snapshot: ir.Snapshot, added: tuple[ir.Source, ...]
) -> tuple[tuple[ir.Source, ...], list[int]]:
    sources = list(snapshot.sources)
    rows = {source.file: row for row, source in enumerate(sources)}
    numbers: list[int] = []
    for source in added:
        if source.file not in rows:
            rows[source.file] = len(sources)
            sources.append(source)
        numbers.append(rows[source.file])
    return tuple(sources), numbers


def _key(site: ir.Site) -> tuple[object, ...]:
    return site.file, site.line, site.end_line, site.column, site.end_column


def _moved(
    finding: ir.Finding, numbers: list[int], nodes: dict[int, list[int]]
) -> ir.Finding:
    def moved(row: int | None) -> int | None:
        return None if row is None else numbers[row]

    culprit, symptom = moved(finding.culprit), moved(finding.symptom)
    related = tuple(numbers[row] for row in finding.related)
    places = [row for row in (culprit, symptom, *related) if row is not None]
    return replace(
        finding,
        culprit=culprit,
        symptom=symptom,
        related=related,
        nodes=tuple(dict.fromkeys(n for row in places for n in nodes.get(row, ()))),
    )


def _with_memory(finding: ir.Finding, snapshot: ir.Snapshot) -> ir.Finding:
    """Add what the nodes of a finding had saved and somebody overwrote."""
    nodes = set(finding.nodes)
    tensors = dict.fromkeys(
        saved.tensor
        for saved in snapshot.saved
        if saved.node in nodes and saved.version_now != saved.version_saved
    )
    storages = dict.fromkeys(
        row
        for tensor in tensors
        if (row := snapshot.tensors[tensor].storage) is not None
    )
    return replace(finding, tensors=tuple(tensors), storages=tuple(storages))
