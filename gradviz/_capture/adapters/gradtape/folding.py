"""Folds a graph of gradtape that is too large to draw, see ``recorder/fold.py``."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from gradtape._debug import Collected, Node
from gradviz._capture.recorder import fold
from gradviz._capture.recorder.fold import Folded


def folded_graph(
    starts: Sequence[Node], collected: Collected | None = None
) -> Folded[Node] | None:
    """Return the rows of the graph behind nodes; None where it can be drawn whole.

    ``collected`` are the nodes of that graph, where somebody has walked it already.
    """
    known = collected or Collected(list(starts))
    order, leaves, most = known.order, list(known.waiting), fold.MOST_DRAWN
    if len(order) + len(leaves) <= most:
        return None
    row_of: dict[Node, int] = {}
    return fold.fold(order[::-1], leaves, _behind, _PLACES, most, row_of)


def _behind(node: Node) -> Iterable[tuple[Node | None, int]]:
    return zip(node.nodes, node.numbers, strict=True)


def _exactly(node: Node) -> Hashable:
    return node.code, node.lasti, type(node), _path(node)


def _by_line(node: Node) -> Hashable:
    return node.code, node.lasti, type(node)


def _by_name(node: Node) -> Hashable:
    return type(node).__name__


_PLACES = _exactly, _by_line, _by_name


def _path(node: Node) -> Hashable:
    """Return the modules around a node; calls of one module are one place."""
    scope, names = node.scope, list[str]()
    while scope is not None:
        names.append(scope.name)
        scope = scope.parent
    return tuple(names)
