"""What has no node of its own is one ghost in the picture, whoever names it."""

from __future__ import annotations

from gradviz.diagnosis.ghosts import NO_NODE
from tests.rules.harness import recorded
from tests.rules.tables import cases_in


def test_a_line_without_a_node_has_one_ghost_whoever_names_it():
    snapshot = recorded(cases_in("optimizers.gv610")[0])
    ghosts = [node for node in snapshot.nodes if NO_NODE in node.flags]
    sites = [node.site for node in ghosts if node.site is not None]
    lines = [(snapshot.sites[site].file, snapshot.sites[site].line) for site in sites]
    assert lines
    assert len({*lines}) == len(lines) == len(ghosts)
    made = {node.site for node in snapshot.nodes if NO_NODE not in node.flags}
    assert made.isdisjoint(sites)
