"""Tells whether every finding about a program has a place in its picture."""

from __future__ import annotations

from gradviz import ir
from gradviz.diagnosis.ghosts import NO_NODE
from tests.rules.tables import FILES, cases_in

SHOWN = {cases_in(file)[0].name for file in FILES if ".gv" in file}
"""One program of each rule: its picture is made, too."""


def check(snapshot: ir.Snapshot) -> None:
    """Assert that each finding points at a node, or at a ghost on one of its lines."""
    assert snapshot.findings
    if not snapshot.nodes:
        return  # no picture: the code takes its room
    for finding in snapshot.findings:
        assert finding.nodes, f"{finding.code} is nowhere"
        named = {finding.culprit, finding.symptom, *finding.related} - {None}
        lines = {_line_of(snapshot, site) for site in named}
        for row in finding.nodes:
            node = snapshot.nodes[row]
            if NO_NODE in node.flags:
                assert node.kind == "cut"
                assert _line_of(snapshot, node.site) in lines
                assert node.name  # the reason


def _line_of(snapshot: ir.Snapshot, site: int | None) -> tuple[str, int]:
    assert site is not None
    return snapshot.sites[site].file, snapshot.sites[site].line
