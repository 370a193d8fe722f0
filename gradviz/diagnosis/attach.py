"""Put the findings of a run into its snapshot, so that every view can show them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gradviz import ir
from gradviz.diagnosis.diagnose import Diagnosis
from gradviz.diagnosis.ghosts import with_ghosts
from gradviz.program import Program

_FEW = 8  # nodes of one line that can be looked at together


def with_findings(
    snapshot: ir.Snapshot, diagnosis: Diagnosis, program: Program | None = None
) -> ir.Snapshot:
    """Return the snapshot with the findings, their places, and the nodes they are at.

    A finding points at the nodes that its lines made, and at the memory of theirs that
    was overwritten; where they made none, at ghosts beside the graph. With the log of
    the run, those that it is about go before those of other turns of a loop.
    """
    rows = {} if program is None else rows_of_nodes(snapshot, program)
    snapshot, numbers = with_places(snapshot, diagnosis.sites, diagnosis.sources)
    made: dict[int, list[int]] = {}
    for row, node in enumerate(snapshot.nodes):
        if node.site is not None:
            made.setdefault(node.site, []).append(row)
    findings: list[ir.Finding] = []
    first = len(snapshot.replacements)
    hits = [hit for _, hit in diagnosis.hits]
    for at, each in enumerate(diagnosis.findings):
        moved = _moved(each, numbers)
        moved = replace(moved, edit=tuple(first + row for row in each.edit))
        nodes = _nodes_of(moved, made, snapshot)
        # Of the log's nodes its own come first; a ghost is none of them, and stays.
        own = {rows[key] for key in hits[at].nodes if key in rows} if hits else set()
        others = {*rows.values()} - own
        nodes = tuple(sorted(nodes, key=lambda row: row in others))
        pointing = replace(moved, nodes=nodes)
        findings.append(_with_memory(pointing, snapshot))
    found = replace(
        snapshot,
        findings=tuple(findings),
        replacements=(*snapshot.replacements, *diagnosis.replacements),
        notes=(*snapshot.notes, *diagnosis.notes),
    )
    return with_ghosts(found)


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


def rows_of_nodes(snapshot: ir.Snapshot, program: Program) -> dict[int, int]:
    """Return the row in the snapshot of each node of the log that is in both."""
    numbered = {
        (node.sequence, node.name): row
        for row, node in enumerate(snapshot.nodes)
        if node.sequence is not None
    }
    return {
        key: numbered[node.sequence, node.name]
        for key, node in program.nodes.items()
        if node.sequence is not None and (node.sequence, node.name) in numbered
    }


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


def _moved(finding: ir.Finding, numbers: list[int]) -> ir.Finding:
    def moved(row: int | None) -> int | None:
        return None if row is None else numbers[row]

    return replace(
        finding,
        culprit=moved(finding.culprit),
        symptom=moved(finding.symptom),
        related=tuple(numbers[row] for row in finding.related),
    )


def _nodes_of(
    finding: ir.Finding, made: dict[int, list[int]], snapshot: ir.Snapshot
) -> tuple[int, ...]:
    """Return the nodes of the line to blame, then those of the other lines.

    A line that all layers of a model share made many: of these only the ones beside
    the culprit's, and those whose saved tensors were overwritten.
    """
    blamed = [] if finding.culprit is None else made.get(finding.culprit, [])
    beside = _beside(set(blamed), snapshot)
    found = dict.fromkeys(blamed)
    for site in (finding.symptom, *finding.related):
        rows = [] if site is None else made.get(site, [])
        if len(rows) > _FEW:
            rows = [
                row
                for row in rows
                if row in beside or "modified" in snapshot.nodes[row].flags
            ]
        found |= dict.fromkeys(rows)
    return tuple(found)


def _beside(nodes: set[int], snapshot: ir.Snapshot) -> set[int]:
    ends = ((edge.source, edge.target) for edge in snapshot.edges)
    return {row for pair in ends if nodes & {*pair} for row in pair}


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
