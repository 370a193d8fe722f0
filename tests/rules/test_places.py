"""Every finding about a program has a place in the picture of its graph."""

from __future__ import annotations

import pytest

from gradviz import ir
from gradviz.diagnosis.ghosts import NO_NODE
from tests.rules.harness import recorded
from tests.rules.tables import FILES, cases_in

WRONG = [file for file in FILES if ".gv" in file]


def line_of(snapshot: ir.Snapshot, site: int | None) -> tuple[str, int]:
    assert site is not None
    return snapshot.sites[site].file, snapshot.sites[site].line


@pytest.mark.parametrize("file", WRONG)
def test_a_finding_points_at_a_node_or_at_a_ghost(file: str):
    snapshot = recorded(cases_in(file)[0])
    assert snapshot.findings
    if not snapshot.nodes:
        return  # no picture: the code takes its room
    for finding in snapshot.findings:
        assert finding.nodes, f"{finding.code} is nowhere"
        named = {finding.culprit, finding.symptom, *finding.related} - {None}
        lines = {line_of(snapshot, site) for site in named}
        for row in finding.nodes:
            node = snapshot.nodes[row]
            if NO_NODE in node.flags:
                assert node.kind == "cut"
                assert line_of(snapshot, node.site) in lines
                assert node.name  # the reason


def test_a_line_without_a_node_has_one_ghost_whoever_names_it():
    snapshot = recorded(cases_in("optimizers.gv610")[0])
    ghosts = [node for node in snapshot.nodes if NO_NODE in node.flags]
    sites = [node.site for node in ghosts if node.site is not None]
    lines = [(snapshot.sites[site].file, snapshot.sites[site].line) for site in sites]
    assert lines
    assert len({*lines}) == len(lines) == len(ghosts)
    made = {node.site for node in snapshot.nodes if NO_NODE not in node.flags}
    assert made.isdisjoint(sites)
