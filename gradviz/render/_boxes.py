"""Chooses what a small picture shows: single nodes, or module calls as one box."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

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
    depths = _depths(snapshot)
    shown = _boxes_at(snapshot, depths)
    for depth in range(len(shown) - 1, -1, -1):
        if shown[depth] <= most:
            return _collapse_to(snapshot, _at_depth(snapshot, depths, depth))
    return None


def _depths(snapshot: ir.Snapshot) -> dict[int, int]:
    """Return how many scopes enclose each scope, outer scopes first."""
    depths: dict[int, int] = {}
    for start in range(len(snapshot.scopes)):
        path: list[int] = []
        scope: int | None = start
        while scope is not None and scope not in depths:
            path.append(scope)
            scope = snapshot.scopes[scope].parent
        outer = -1 if scope is None else depths[scope]
        for inner in reversed(path):
            depths[inner] = outer = outer + 1
    return depths


def _boxes_at(snapshot: ir.Snapshot, depths: dict[int, int]) -> list[int]:
    """Return for each depth how many boxes are left when scopes there are closed.

    Counted, because collapsing at every depth in turn takes quadratic time.
    """
    levels = max(depths.values(), default=-1) + 1
    alone, closed = [0] * (levels + 1), [0] * levels
    is_used = [False] * len(depths)
    for node in snapshot.nodes:
        if node.scope is None:
            alone[0] += 1
        else:
            alone[depths[node.scope] + 1] += 1
            is_used[node.scope] = True
    for scope in reversed(depths):
        if is_used[scope]:
            closed[depths[scope]] += 1
            parent = snapshot.scopes[scope].parent
            if parent is not None:
                is_used[parent] = True
    return [a + b for a, b in zip(accumulate(alone[:-1]), closed, strict=True)]


def _at_depth(
    snapshot: ir.Snapshot, depths: dict[int, int], depth: int
) -> list[int | None]:
    """Return for each scope the one of this depth that encloses it, or is it."""
    found: list[int | None] = [None] * len(depths)
    for scope, own in depths.items():
        parent = snapshot.scopes[scope].parent
        if own == depth:
            found[scope] = scope
        elif parent is not None:
            found[scope] = found[parent]
    return found


def _collapse_to(snapshot: ir.Snapshot, stand_ins: list[int | None] | None) -> Boxes:
    """Merge nodes whose scope has a stand-in; the others stay on their own."""
    members: dict[tuple[str, int], list[int]] = {}
    keys: list[tuple[str, int]] = []
    for number, node in enumerate(snapshot.nodes):
        outer = None
        if stand_ins is not None and node.scope is not None:
            outer = stand_ins[node.scope]
        keys.append(("node", number) if outer is None else ("scope", outer))
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
