"""Chooses what a small picture shows: single nodes, or module calls as one box."""

from __future__ import annotations

from dataclasses import dataclass

from gradviz import ir


@dataclass(frozen=True, slots=True)
class Box:
    """One node, or one module call that stands for the nodes inside it."""

    nodes: tuple[int, ...]
    scope: int | None = None  # set when the box stands for a module call


@dataclass(frozen=True, slots=True)
class Link:
    """What flows from one box to another: the edges between their nodes."""

    source: int
    target: int
    edges: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Boxes:
    """A collapsed graph."""

    boxes: tuple[Box, ...]
    links: tuple[Link, ...]


def collapse(snapshot: ir.Snapshot, most: int) -> Boxes | None:
    """Show modules as deep as ``most`` boxes allow; None if not even that is enough."""
    if len(snapshot.nodes) <= most:
        return _collapse_to(snapshot, None)
    chains = _chains(snapshot)
    for depth in range(max(map(len, chains), default=0) - 1, -1, -1):
        found = _collapse_to(snapshot, [chain[depth : depth + 1] for chain in chains])
        if len(found.boxes) <= most:
            return found
    return None


def _chains(snapshot: ir.Snapshot) -> list[tuple[int, ...]]:
    """Return for every scope its ancestors and itself, outermost first."""
    chains: dict[int, tuple[int, ...]] = {}
    for start in range(len(snapshot.scopes)):
        path: list[int] = []
        scope: int | None = start
        while scope is not None and scope not in chains:
            path.append(scope)
            scope = snapshot.scopes[scope].parent
        for inner in reversed(path):
            parent = snapshot.scopes[inner].parent
            chains[inner] = (*(() if parent is None else chains[parent]), inner)
    return [chains[scope] for scope in range(len(snapshot.scopes))]


def _collapse_to(
    snapshot: ir.Snapshot, stand_ins: list[tuple[int, ...]] | None
) -> Boxes:
    """Merge nodes whose scope has a stand-in; the others stay on their own."""
    members: dict[tuple[str, int], list[int]] = {}
    keys: list[tuple[str, int]] = []
    for number, node in enumerate(snapshot.nodes):
        outer = () if stand_ins is None or node.scope is None else stand_ins[node.scope]
        keys.append(("scope", outer[0]) if outer else ("node", number))
        members.setdefault(keys[-1], []).append(number)
    rows = {key: row for row, key in enumerate(members)}
    boxes = tuple(
        Box(tuple(nodes), number if kind == "scope" else None)
        for (kind, number), nodes in members.items()
    )
    between: dict[tuple[int, int], list[int]] = {}
    for row, edge in enumerate(snapshot.edges):
        ends = rows[keys[edge.source]], rows[keys[edge.target]]
        if ends[0] != ends[1]:
            between.setdefault(ends, []).append(row)
    links = tuple(Link(*ends, tuple(edges)) for ends, edges in between.items())
    return Boxes(boxes, links)
