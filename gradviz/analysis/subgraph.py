"""Part of a snapshot as a snapshot of its own, and two snapshots side by side in one.

Both follow from what ``ir.fields`` knows of the records: which number is a row of
which table. Events and flows are left out: they tell of a run, not of a graph.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from gradviz import ir
from gradviz.ir.fields import Field, tables

_DROPPED = (
    *("events", "flow_layers", "flow_steps", "flow", "parts"),
    *("answers", "answer_steps", "loss_terms", "term_shares"),
)
# A storage lists its aliases, a write may name its node: they are mentioned, not kept.
_MENTIONED = {"StorageMeta.tensors", "Write.node", "Finding.nodes", "Finding.tensors"}

Renumber = Callable[[str, int], int | None]


def subgraph(snapshot: ir.Snapshot, nodes: Iterable[int]) -> ir.Snapshot:
    """Return the snapshot of some nodes, with every row that they lead to."""
    kept = {name: set[int]() for name in tables()}
    kept["nodes"] = set(nodes)
    writes: dict[int, list[int]] = defaultdict(list)
    for row, write in enumerate(snapshot.writes):
        writes[write.storage].append(row)
    waiting = [("nodes", row) for row in kept["nodes"]]
    waiting += _around(snapshot, kept)
    while waiting:
        name, row = waiting.pop()
        for table, target in _followed(snapshot, name, row):
            if target not in kept[table]:
                kept[table].add(target)
                waiting.append((table, target))
                if table == "storages":
                    kept["writes"].update(writes[target])
                    waiting += [("writes", row) for row in writes[target]]
    kept["thumbnails"] = {
        row
        for row, each in enumerate(snapshot.thumbnails)
        if each.statistics in kept["statistics"]
    }
    places = {
        name: {row: place for place, row in enumerate(sorted(rows))}
        for name, rows in kept.items()
    }
    return _rebuilt(snapshot, places, lambda table, row: places[table].get(row))


def joined(a: ir.Snapshot, b: ir.Snapshot) -> ir.Snapshot:
    """Return one snapshot with the rows of both, those of ``b`` behind."""
    shift = {name: len(getattr(a, name)) for name in tables()}
    everything = {name: range(len(getattr(b, name))) for name in tables()}
    moved = _rebuilt(b, everything, lambda table, row: row + shift[table])
    both = {
        name: getattr(a, name) + getattr(moved, name)
        for name in tables()
        if name not in _DROPPED
    }
    roots = (*a.roots, *(row + shift["nodes"] for row in b.roots))
    plain = _rebuilt(a, dict.fromkeys(tables(), ()), lambda _, row: row)
    return replace(plain, **both, roots=roots, notes=(*a.notes, *b.notes))


def _around(snapshot: ir.Snapshot, kept: dict[str, set[int]]) -> list[tuple[str, int]]:
    """Keep the edges between kept nodes, what they save and what points at them."""
    nodes = kept["nodes"]
    for row, edge in enumerate(snapshot.edges):
        if edge.source in nodes and edge.target in nodes:
            kept["edges"].add(row)
    kept["saved"] = {i for i, each in enumerate(snapshot.saved) if each.node in nodes}
    kept["findings"] = {
        i for i, each in enumerate(snapshot.findings) if nodes.intersection(each.nodes)
    }
    names = ("edges", "saved", "findings")
    return [(name, row) for name in names for row in kept[name]]


def _followed(snapshot: ir.Snapshot, name: str, row: int) -> Iterable[tuple[str, int]]:
    table = tables()[name]
    record = getattr(snapshot, name)[row]
    for field in table.fields:
        key = f"{table.record.__name__}.{field.name}"
        if field.refers and key not in _MENTIONED:
            for target in _numbers(getattr(record, field.name)):
                yield field.refers, target


def _numbers(value: Any) -> tuple[int, ...]:
    rows = value if isinstance(value, tuple) else (value,)
    return tuple(row for row in rows if row is not None and row >= 0)


def _rebuilt(
    snapshot: ir.Snapshot, rows: dict[str, Any], renumber: Renumber
) -> ir.Snapshot:
    """Return the snapshot with these rows of its tables, references renumbered."""
    made: dict[str, Any] = dict.fromkeys(_DROPPED, ())
    for name, table in tables().items():
        if name in _DROPPED:
            continue
        records = getattr(snapshot, name)
        made[name] = tuple(
            [_renumbered(records[row], table.fields, renumber) for row in rows[name]]
        )
    roots = [renumber("nodes", row) for row in snapshot.roots]
    return replace(
        snapshot, **made, roots=tuple(row for row in roots if row is not None)
    )


def _renumbered(record: Any, fields: tuple[Field, ...], renumber: Renumber) -> Any:
    # Positional, because dataclasses.replace() takes ten times as long.
    return type(record)(
        *[
            _moved(getattr(record, field.name), field.refers, renumber)
            if field.refers
            else getattr(record, field.name)
            for field in fields
        ]
    )


def _moved(value: Any, table: str, renumber: Renumber) -> Any:
    if value is None:
        return None
    if not isinstance(value, tuple):
        return renumber(table, value)
    rows = [-1 if row < 0 else renumber(table, row) for row in value]
    return tuple([row for row in rows if row is not None])
