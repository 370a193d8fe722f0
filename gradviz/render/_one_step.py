"""Of a recording of several passes, the one that a small picture shows."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from gradviz import ir
from gradviz.analysis.passes import passes
from gradviz.analysis.subgraph import subgraph


def one_step(snapshot: ir.Snapshot) -> tuple[ir.Snapshot, str]:
    """Return the pass of the first finding, else the last, and which of how many it is.

    >>> one_step(ir.Snapshot("demo"))[1]
    ''
    """
    found = [] if snapshot.parts else passes(snapshot)
    if len(found) < 2:
        return snapshot, ""
    shown = [_with_beside(snapshot, set(each.nodes)) for each in found]
    blamed = {
        row
        for finding in snapshot.findings[:1]
        for row in finding.nodes
        if snapshot.nodes[row].kind not in ("accumulate", "leaf")
    }
    last = len(found) - 1
    at = next((at for at, nodes in enumerate(shown) if nodes & blamed), last)
    step = _leaves_at_home(subgraph(snapshot, shown[at]))
    return step, f"{found[at].label} of {len(found)}"


def _leaves_at_home(step: ir.Snapshot) -> ir.Snapshot:
    """Put each leaf into the module call that uses it here: the first was in step 1."""
    nodes = list(step.nodes)
    for edge in reversed(step.edges):
        leaf, user = step.nodes[edge.source], step.nodes[edge.target]
        if leaf.kind in ("accumulate", "leaf"):
            nodes[edge.source] = replace(leaf, scope=user.scope)
    return replace(step, nodes=tuple(nodes))


def _with_beside(snapshot: ir.Snapshot, nodes: set[int]) -> set[int]:
    """Return the nodes of a pass with what was cut off it, and what lies behind."""
    into: dict[int, list[int]] = defaultdict(list)
    cuts: dict[int, list[int]] = defaultdict(list)  # of a node
    for edge in snapshot.edges:
        into[edge.target].append(edge.source)
        if snapshot.nodes[edge.target].kind == "cut":
            cuts[edge.source].append(edge.target)
    found, waiting = set(nodes), list(nodes)
    while waiting:
        node = waiting.pop()
        for row in (*into[node], *cuts[node]):
            if row not in found:
                found.add(row)
                waiting.append(row)
    return found
