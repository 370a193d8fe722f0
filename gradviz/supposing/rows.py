"""From the rows of a snapshot to the live graph that it shows."""

from __future__ import annotations

from typing import Any

from gradviz import ir
from gradviz.errors import CaptureError
from gradviz.stepping.graph import nodes_behind
from gradviz.supposing.walk import Output, Place

_ELSEWHERE = "this is not part of the graph that the loss still holds"


class Rows:
    """Finds live nodes by their sequence number and name, leaves by who took them."""

    def __init__(self, snapshot: ir.Snapshot, root: Any) -> None:
        self._snapshot = snapshot
        self._live = {number_of(node): node for node in nodes_behind(root)}

    def nodes(self) -> list[Any]:
        """Return the live nodes behind the loss."""
        return list(self._live.values())

    def output(self, row: int, number: int = 0) -> Output:
        """Return the output of a node; raises CaptureError where it is not alive."""
        node = self._node(row)
        if node is None:
            node = next(
                (
                    user.next_functions[edge.input][0]
                    for edge in self._snapshot.edges
                    if edge.source == row and (user := self._node(edge.target))
                ),
                None,
            )
        if node is None:
            raise CaptureError(_ELSEWHERE)
        return Output(node, number)

    def leaves(self) -> dict[Any, int]:
        """Return the row of each live AccumulateGrad."""
        found: dict[Any, int] = {}
        for edge in self._snapshot.edges:
            if self._snapshot.nodes[edge.source].kind == "accumulate":
                user = self._node(edge.target)
                if user is not None:
                    found[user.next_functions[edge.input][0]] = edge.source
        return found

    def input(self, row: int) -> Place:
        """Return the input of a node at which an edge ends, counted as it counts."""
        edge = self._edge(row)
        return self.output(edge.target).node, edge.input

    def around(self, row: int) -> tuple[Place, Place]:
        """Return which input took what a node of kind "cut" gave, and who made that.

        Raises CaptureError where that is not one each.
        """
        edges = self._snapshot.edges
        made = [edge for edge in edges if edge.target == row]
        taken = [edge for edge in edges if edge.source == row]
        if len(made) != 1 or len(taken) != 1:
            raise CaptureError(
                f"this cut lies between {len(made)} values and {len(taken)} "
                "operations; only one with one of each can be taken away"
            )
        into = self.output(made[0].source, made[0].output)
        return (self.output(taken[0].target).node, taken[0].input), (
            into.node,
            into.number,
        )

    def _edge(self, row: int) -> ir.Edge:
        if not 0 <= row < len(self._snapshot.edges):
            raise CaptureError(_ELSEWHERE)
        return self._snapshot.edges[row]

    def _node(self, row: int) -> Any:
        if not 0 <= row < len(self._snapshot.nodes):
            raise CaptureError(_ELSEWHERE)
        node = self._snapshot.nodes[row]
        if node.sequence is None:
            return None
        return self._live.get((node.sequence, node.name))


def number_of(node: Any) -> tuple[int, str]:
    """Return what tells a live node from others, as a snapshot has it."""
    return node._sequence_nr(), type(node).__name__
