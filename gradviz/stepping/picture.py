"""The graph of a stepped pass as a snapshot: gradients appear where it has been."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gradviz import ir
from gradviz._capture import read_graph
from gradviz.stepping.stop import Gradient, Stop

WAITING = "waiting"
"""The flag of the node that runs next."""

Incoming = tuple[Gradient | None, ...]
Details = tuple[ir.Statistics | None, ...]
"""All statistics of the incoming gradients, where somebody stopped to look."""


class Picture:
    """The graph of one pass; ``at`` paints the gradients that have arrived."""

    def __init__(self, loss: Any, nodes: Sequence[Any]) -> None:
        self._graph, row_of = read_graph(loss, title="backward, step by step")
        self.rows = [row_of(node) for node in nodes]
        self._looked: dict[int, tuple[Incoming, Details]] = {}
        self._consumers = Counter((e.source, e.output) for e in self._graph.edges)

    def finder(self, nodes: Sequence[Any]) -> Callable[[int], tuple[Any, Any]]:
        """Return what finds the first node of the pass, and the node of a row."""
        places = {row: place for place, row in enumerate(self.rows)}

        def find(row: int) -> tuple[Any, Any]:
            place = places.get(row)
            return nodes[0], None if place is None else nodes[place]

        return find

    def look_at(self, stop: Stop, details: Details) -> None:
        """Keep all statistics of what reached a node, as long as it is unchanged."""
        self._looked[stop.index] = stop.incoming, details

    def at(self, passed: Mapping[int, Incoming], stop: Stop | None) -> ir.Snapshot:
        """Return the snapshot after these nodes received these gradients.

        ``passed`` maps the place of a node in the walk to its incoming gradients.
        """
        here = None if stop is None else stop.index
        if stop is not None:
            passed = {**passed, stop.index: stop.incoming}
        statistics = list(self._graph.statistics)
        nodes = list(self._graph.nodes)
        arrived: dict[tuple[int, int], int] = {}
        for place, gradients in passed.items():
            row = self.rows[place]
            if row is None:
                continue
            known, details = self._looked.get(place, ((), ()))
            details = details if known == gradients else (None,) * len(gradients)
            pairs = zip(gradients, details, strict=True)
            numbers = [_add(statistics, each, more) for each, more in pairs]
            nodes[row] = replace(nodes[row], grad_outputs=tuple(numbers))
            arrived |= {(row, i): n for i, n in enumerate(numbers) if n >= 0}
        waiting = None if here is None else self.rows[here]
        if waiting is not None:
            flags = (*nodes[waiting].flags, WAITING)
            nodes[waiting] = replace(nodes[waiting], flags=flags)
        return replace(
            self._graph,
            nodes=tuple(nodes),
            edges=tuple(self._painted(edge, arrived) for edge in self._graph.edges),
            statistics=tuple(statistics),
        )

    def _painted(self, edge: ir.Edge, arrived: dict[tuple[int, int], int]) -> ir.Edge:
        """Give an edge its gradient where no other edge brought a part of it."""
        output = edge.source, edge.output
        if output in arrived and self._consumers[output] == 1:
            return replace(edge, gradient=arrived[output])
        return edge


def _add(
    statistics: list[ir.Statistics],
    gradient: Gradient | None,
    details: ir.Statistics | None,
) -> int:
    if gradient is None:
        return -1
    count = math.prod(gradient.shape)
    brief = ir.Statistics(
        count, norm=gradient.norm, nans=gradient.nans, infs=gradient.infs
    )
    statistics.append(details or brief)
    return len(statistics) - 1


def details_of(library: Any, gradients: Sequence[Any]) -> Details:
    """Return all statistics of live gradients; None stays None."""
    return tuple(_statistics(library, each) for each in gradients)


def _statistics(library: Any, gradient: Any) -> ir.Statistics | None:
    if gradient is None:
        return None
    if library.__package__ == "torch":
        from gradviz._capture.adapters.pytorch.statistics import statistics as of_tensor

        return of_tensor(library, gradient)
    from gradviz._capture.statistics.summary import statistics

    return statistics(gradient._data)
