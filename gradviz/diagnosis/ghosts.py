"""Draw what a finding is about where no node stands for it: a ghost beside the graph.

An optimizer's call, a result that nobody used, code under ``no_grad``: none of them
makes a node, and a picture that leaves them out has no place for what went wrong. Each
line of such a finding becomes one node of kind "cut", with the reason why it is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TypeAlias

from gradviz import ir

MOST = 40  # in one picture
NO_NODE = "no node"  # the flag that tells a ghost from other cuts
_FEW = 8  # nodes of one call that can be looked at together
_LETTERS = 48  # of a line, in a box

_Line: TypeAlias = tuple[str, int]
"""A file, and a line of it."""


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
        self._known: dict[_Line, int] = {}

    @cached_property
    def _made(self) -> Mapping[_Line, list[int]]:
        """The rows of the nodes that each line made, in order."""
        found: dict[_Line, list[int]] = {}
        for row, node in enumerate(self.snapshot.nodes):
            if node.site is not None:
                found.setdefault(self._line(node.site), []).append(row)
        return found

    @cached_property
    def _called(self) -> Mapping[_Line, list[int]]:
        """The rows of the nodes that were made in what each line called."""
        found: dict[_Line, list[int]] = {}
        for row, node in enumerate(self.snapshot.nodes):
            for line in {self._line(site) for site in node.stack}:
                found.setdefault(line, []).append(row)
        return found

    def _line(self, site: int) -> _Line:
        there = self.snapshot.sites[site]
        return there.file, there.line

    def places_of(self, finding: ir.Finding) -> Iterator[int]:
        """Yield the rows that stand for the lines of a finding, its culprit's first."""
        reason = finding.slug.replace("-", " ")
        lines = dict.fromkeys([finding.culprit, *finding.related, finding.symptom])
        roles = dict(zip(finding.related, finding.roles, strict=False))
        for site in lines:
            if site is not None:
                yield from self._at(site, roles.get(site) or reason)

    def _at(self, site: int, reason: str) -> list[int]:
        line = self._line(site)
        if line in self._known:
            return [self._known[line]]
        called = self._made.get(line) or self._called.get(line)
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
