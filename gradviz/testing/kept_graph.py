"""What of a graph is kept, to be compared with another run's: its shape, and norms."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import PurePath

from gradviz import ir

_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{4,}\b")


def kept_graph(graph: ir.Snapshot) -> ir.Snapshot:
    """Return a graph without what tells one run, machine or checkout from another.

    Times, addresses, folders and counters that go on from run to run are left out, and
    so is what is not compared: histograms, events, texts of files, findings.

    >>> node = ir.OpNode("F", "custom", arguments=("<f at 0x7f3a10>",), sequence=812)
    >>> kept = kept_graph(ir.Snapshot("demo", nodes=(node,))).nodes[0]
    >>> kept.arguments, kept.sequence
    (('<f at 0x…>',), 0)
    """
    return ir.Snapshot(
        graph.producer,
        nodes=_nodes(graph.nodes),
        edges=graph.edges,
        tensors=tuple(replace(each, holders=()) for each in graph.tensors),
        saved=graph.saved,
        storages=graph.storages,
        writes=graph.writes,
        statistics=tuple(
            replace(each, histogram=(), histogram_low=None, histogram_high=None)
            for each in graph.statistics
        ),
        scopes=graph.scopes,
        sites=tuple(
            replace(each, file=PurePath(each.file).name or each.file, source=None)
            for each in graph.sites
        ),
        roots=graph.roots,
    )


def _nodes(nodes: tuple[ir.OpNode, ...]) -> tuple[ir.OpNode, ...]:
    known = sorted({each.sequence for each in nodes if each.sequence is not None})
    ranks = {sequence: rank for rank, sequence in enumerate(known)}
    return tuple(
        replace(
            each,
            arguments=tuple(map(_without_address, each.arguments)),
            hooks=tuple(map(_without_address, each.hooks)),
            sequence=None if each.sequence is None else ranks[each.sequence],
            elapsed_ns=None,
        )
        for each in nodes
    )


def _without_address(text: str) -> str:
    return _ADDRESS.sub("0x…", text)
