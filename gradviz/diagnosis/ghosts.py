"""Draw what a finding is about where no node stands for it: a ghost beside the graph.

An optimizer's call, a result that nobody used, code under ``no_grad``: none of them
makes a node, and a picture that leaves them out has no place for what went wrong. Each
line of such a finding becomes one node of kind "cut", with the reason why it is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from gradviz import ir

MOST = 40  # in one picture
NO_NODE = "no node"  # the flag that tells a ghost from other cuts
_FEW = 8  # nodes of one call that can be looked at together
_LETTERS = 48  # of a line, in a box


def with_ghosts(snapshot: ir.Snapshot) -> ir.Snapshot:
    """Return the snapshot with a place in its picture for every finding that has lines.

    A line that called what made nodes is there already: its finding points at them.
    A snapshot without any node has no picture, and is returned as it is.
    """
    if not snapshot.nodes:
        return snapshot
    ghosts = _Ghosts(snapshot)
    findings = tuple(
        each if each.nodes else replace(each, nodes=tuple(ghosts.places_of(each)))
        for each in snapshot.findings
    )
    return replace(snapshot, findings=findings, nodes=tuple(ghosts.nodes))


def innermost(inside: Iterable[int | None], scopes: Sequence[ir.Scope]) -> int | None:
    """Return the innermost module call around all of these; None: there is none."""
    chains: list[list[int]] = []
    for scope in inside:
        chains.append([])
        while scope is not None:
            chains[-1].append(scope)
            scope = scopes[scope].parent
    if not chains:
        return None
    shared = set(chains[0]).intersection(*chains[1:])
    return next((scope for scope in chains[0] if scope in shared), None)


class _Ghosts:
    """The nodes of a picture, and the ghosts added to them: one for each line."""

    def __init__(self, snapshot: ir.Snapshot) -> None:
        self.snapshot = snapshot
        self.nodes = list(snapshot.nodes)
        self._known: dict[tuple[str, int], int] = {}

    def places_of(self, finding: ir.Finding) -> Iterator[int]:
        """Yield the rows that stand for the lines of a finding, its culprit's first."""
        reason = finding.slug.replace("-", " ")
        lines = dict.fromkeys([finding.culprit, *finding.related, finding.symptom])
        roles = dict(zip(finding.related, finding.roles, strict=False))
        for site in lines:
            if site is not None:
                yield from self._at(site, roles.get(site) or reason)

    def _at(self, site: int, reason: str) -> list[int]:
        sites, nodes = self.snapshot.sites, self.snapshot.nodes
        line = sites[site].file, sites[site].line
        if line in self._known:
            return [self._known[line]]
        on = {row for row, each in enumerate(sites) if (each.file, each.line) == line}
        made = [row for row, node in enumerate(nodes) if node.site in on]
        called = made or [r for r, node in enumerate(nodes) if on & {*node.stack}]
        if called:
            return called if len(called) <= _FEW else called[-1:]  # what it gave
        if len(self._known) >= MOST:
            return []
        self._known[line] = len(self.nodes)
        self.nodes.append(self._ghost(site, reason))
        return [self._known[line]]

    def _ghost(self, site: int, reason: str) -> ir.OpNode:
        there, sites = self.snapshot.sites[site], self.snapshot.sites
        beside = [
            node.scope
            for node in self.snapshot.nodes
            if node.site is not None
            and (sites[node.site].file, sites[node.site].function)
            == (there.file, there.function)
        ]
        text = " ".join(there.text.split())
        words = text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"
        return ir.OpNode(
            reason,
            "cut",
            words or f"line {there.line}",
            scope=innermost(beside, self.snapshot.scopes),
            site=site,
            flags=(NO_NODE,),
        )
