"""Which nodes a backward pass runs, in which order, and how many gradients each awaits.

PyTorch keeps the nodes that are ready in a heap ordered by sequence number. Numbers
grow along the graph, so for operations this is the order of the numbers themselves; a
heap is needed only where several leaves are ready at once and someone can see which
goes first, or where the user has changed a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from operator import attrgetter

from .._common.compiled import compiled
from .._graph.node import Node
from .._graph.node import renumbered as renumbered

by_sequence = attrgetter("seq")
Edge = tuple[Node, int]


class Ticket(int):
    """A node's place in the heap: the latest first, and equal numbers are equal.

    Leaves all have one number. Python's heap and that of C++ move equals alike, so they
    come out in PyTorch's order as long as nothing else tells them apart.
    """

    node: Node


def ticket_of(node: Node) -> Ticket:
    """Return the entry that stands for ``node`` in the heap."""
    ticket = Ticket(-node.seq)
    ticket.node = node
    return ticket


def collect(
    roots: Sequence[Edge], waiting: dict[Node, int]
) -> tuple[list[Node], list[Node]]:
    """Return the operations reached from the roots, latest first, and the leaves.

    ``waiting`` is filled with the number of gradients that each leaf will get.
    """
    order: list[Node] = []
    seen: set[Node] = set()
    found: Iterable[Node | None] = [node for node, _ in roots]
    reached = 0
    while True:
        for node in found:
            if node is None:
                continue
            if node.accumulates:
                waiting[node] = waiting.get(node, 0) + 1
            elif node not in seen:
                seen.add(node)
                order.append(node)
        if reached == len(order):
            break
        found = order[reached].nodes
        reached += 1
    order.sort(key=by_sequence, reverse=True)
    return order, list(waiting)


class Collected:
    """What :func:`collect` finds from some nodes, kept for the pass that follows."""

    __slots__ = ("order", "starts", "waiting")

    def __init__(self, starts: list[Node]) -> None:
        self.starts = starts
        self.waiting: dict[Node, int] = {}
        self.order = collect([(node, 0) for node in starts], self.waiting)[0]


def count_edges(roots: Sequence[Edge], order: Sequence[Node]) -> dict[Node, int]:
    """Return how many gradients each node will get, those of the roots among them."""
    waiting: dict[Node, int] = {}
    for node, _ in roots:
        waiting[node] = waiting.get(node, 0) + 1
    for each in order:
        for node in each.nodes:
            if node is not None:
                waiting[node] = waiting.get(node, 0) + 1
    return waiting


def execution_order(
    roots: Sequence[Edge], order: Sequence[Node], wanted: set[Node] | None = None
) -> list[Node]:
    """Return nodes and leaves in the order in which a pass from the roots runs them.

    ``wanted`` limits it to some nodes.
    """
    waiting = count_edges(roots, order)
    heap: list[Ticket] = []
    found: list[Node] = []
    arrivals: Iterable[Node | None] = [node for node, _ in roots]
    while True:
        for node in arrivals:
            if node is None or (wanted is not None and node not in wanted):
                continue
            waiting[node] -= 1
            if not waiting[node]:
                heappush(heap, ticket_of(node))
        if not heap:
            return found
        found.append(heappop(heap).node)
        arrivals = found[-1].nodes


def leading_to(targets: set[Node], order: Iterable[Node]) -> set[Node]:
    """Return the nodes from which a gradient goes on towards one of the targets.

    ``order`` has each node after those it leads to.
    """
    reaching = set(targets)
    leading: set[Node] = set()
    for node in order:
        if not reaching.isdisjoint(node.nodes):
            reaching.add(node)
            leading.add(node)
    return leading


collect = compiled(collect)
