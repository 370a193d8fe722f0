"""The passes of a recording: what each backward() walked, and with what gradients."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import cast

from gradviz import ir

_ARRIVALS = ("node_enter", "accumulate")


@dataclass(frozen=True, slots=True)
class Pass:
    """One graph of a snapshot: what one ``backward()`` walked, or would walk."""

    label: str  # "pass 2"
    nodes: tuple[int, ...]  # in the order of the forward pass, leaves first
    gradients: dict[int, int] = field(default_factory=dict[int, int])
    # by node: the row of statistics of the gradient that reached it in this pass


def passes(snapshot: ir.Snapshot) -> list[Pass]:
    """Return the passes of a snapshot, oldest first; a graph that never ran is one too.

    >>> from gradviz import ir
    >>> nodes = (ir.OpNode("AccumulateGrad", "accumulate"), ir.OpNode("Exp", "op"))
    >>> found = passes(ir.Snapshot("x", nodes=nodes, edges=(ir.Edge(0, 0, 1, 0),)))
    >>> [(each.label, each.nodes) for each in found]
    [('the graph', (0, 1))]
    """
    if snapshot.parts:
        return [
            Pass(part.label, _ordered(snapshot, part.nodes), _received(snapshot))
            for part in snapshot.parts
        ]
    into: dict[int, list[int]] = defaultdict(list)
    for edge in snapshot.edges:
        into[edge.target].append(edge.source)
    runs = list(_runs(snapshot.events))
    walked = [_reached(into, [root]) for root, _ in runs]
    found = [
        Pass(f"pass {number}", _ordered(snapshot, nodes), gradients)
        for number, (nodes, (_, gradients)) in enumerate(
            zip(walked, runs, strict=True), start=1
        )
    ]
    left = set(snapshot.roots).difference(*walked)
    if left and found:
        nodes = _ordered(snapshot, _reached(into, left))
        found.append(Pass("not run", nodes, _received(snapshot)))
    everything = _ordered(snapshot, range(len(snapshot.nodes)))
    if len(found) == 1:  # what hangs beside it is of no other pass
        return [Pass(found[0].label, everything, found[0].gradients)]
    return found or [Pass("the graph", everything, _received(snapshot))]


def _runs(events: Iterable[ir.Event]) -> Iterator[tuple[int, dict[int, int]]]:
    """Yield the root of every backward pass, and the gradients of its nodes."""
    root: int | None = None
    gradients: dict[int, int] = {}
    for event in events:
        if event.kind == "backward_begin":
            if root is not None:  # the one before never ended
                yield root, gradients
            root, gradients = event.node, {}
        elif event.kind == "backward_end":
            if root is not None:
                yield root, gradients
            root = None
        elif event.kind in _ARRIVALS and None not in (event.node, event.statistics):
            gradients[cast("int", event.node)] = cast("int", event.statistics)
    if root is not None:
        yield root, gradients


def _received(snapshot: ir.Snapshot) -> dict[int, int]:
    """Return the gradients that nodes, or else the edges that leave them, remember."""
    found: dict[int, int] = {}
    for edge in snapshot.edges:
        if edge.gradient is not None:
            found.setdefault(edge.source, edge.gradient)
    for number, node in enumerate(snapshot.nodes):
        rows = [row for row in node.grad_outputs if row >= 0]
        if rows:
            found[number] = rows[0]
    return found


def _reached(into: dict[int, list[int]], roots: Iterable[int]) -> set[int]:
    found = set(roots)
    waiting = list(found)
    while waiting:
        for source in into.get(waiting.pop(), ()):
            if source not in found:
                found.add(source)
                waiting.append(source)
    return found


def _ordered(snapshot: ir.Snapshot, nodes: Iterable[int]) -> tuple[int, ...]:
    def place(node: int) -> tuple[int, int]:
        sequence = snapshot.nodes[node].sequence
        return (-1 if sequence is None else sequence, node)

    return tuple(sorted(nodes, key=place))
