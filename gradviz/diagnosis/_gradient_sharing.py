"""Which branches of a graph are handed one and the same gradient tensor."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from gradviz.dependence.learning import once
from gradviz.dependence.lineage import reached
from gradviz.dependence.op_families import words
from gradviz.program import History, Node, Value

_SAME = words(
    "Alias Clone View UnsafeView Reshape Squeeze Unsqueeze T Transpose Permute"
)
"""Nodes that pass the memory of their gradient on to their only input."""

Edge = tuple[int, int]


@once
def consumers(history: History) -> dict[Edge, list[tuple[Node, int]]]:
    """Return, per output of a node, the inputs of other nodes that it went to."""
    found: dict[Edge, list[tuple[Node, int]]] = defaultdict(list)
    for node in history.program.nodes.values():
        for place, edge in enumerate(node.next):
            if edge is not None:
                found[edge].append((node, place))
    return found


def sharer(history: History, value: Value) -> tuple[Node, Node] | None:
    """Return who else gets the gradient tensor of a value: the giver, and the other.

    ``a + b`` gives one gradient tensor to both; where a value is used twice, its
    gradients are summed into a new one.
    """
    return sharer_at(history, _edge(history, value), value.shape)


def sharer_at(
    history: History, edge: Edge | None, shape: tuple[int, ...]
) -> tuple[Node, Node] | None:
    """Return the same of an output of a node, which has this shape."""
    while edge is not None:
        users = consumers(history).get(edge, [])
        if len(users) != 1:
            return None
        node, place = users[0]
        kind = _kind(node)
        if kind == "Add" or (kind == "Sub" and place == 0):
            sibling = _sibling(history, node, place, shape)
            if sibling is not None:
                return node, sibling
        elif kind not in _SAME:
            return None
        edge, shape = (node.key, 0), node.shape or shape
    return None


def met_later(history: History, sharing: Node, than: Node) -> bool:
    """Tell whether a gradient that a node shares is still read when another has run.

    A pass takes the nodes that were made last first. What passes memory on leaves the
    tensor to whoever comes next; a leaf may keep it.
    """

    def onward(node: Node) -> Iterable[Node]:
        passes = _kind(node) in _SAME or _kind(node) == "Add"
        edges = node.next if passes else ()
        after = [history.node(edge[0]) for edge in edges if edge is not None]
        return [e for e in after if e and e.shape in (None, node.shape)]

    nodes = reached([sharing], onward)
    return any(node.leaf is not None or node.key < than.key for node in nodes)


def _kind(node: Node) -> str:
    return node.name.rstrip("0123456789").removesuffix("Backward")


def _edge(history: History, value: Value) -> Edge | None:
    if value.node is not None:
        return value.node, value.output
    for node in history.program.nodes.values():
        if node.leaf == value.tensor:
            return node.key, 0
    return None


def _sibling(
    history: History, node: Node, place: int, shape: tuple[int, ...]
) -> Node | None:
    """Return the other input of an addition, unless one was broadcast."""
    if node.shape is not None and node.shape != shape:
        return None
    kind = node.name[:3]
    for other, edge in enumerate(node.next):
        sibling = None if edge is None or other == place else history.node(edge[0])
        if sibling is None or (kind == "Sub" and other == 1):
            continue
        if sibling.shape is None or node.shape in (None, sibling.shape):
            return sibling
    return None
