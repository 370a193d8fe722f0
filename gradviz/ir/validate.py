"""Checks that a snapshot does not contradict itself, and says what is wrong if it does.

A snapshot that passes can be drawn without further checks: every reference is a row
that exists, every value has its type, scopes are a tree and data edges have no cycle.
(Cut edges may close one: ``p.data = f(p).detach()`` feeds a leaf from its own graph.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, cast

from gradviz import ir
from gradviz.errors import SnapshotError
from gradviz.ir.bounds import MAX_PIXELS
from gradviz.ir.fields import Field, snapshot_fields, tables

_INT64 = 2**63


def validate(snapshot: ir.Snapshot) -> None:
    """Raise SnapshotError, with one sentence, if the snapshot contradicts itself.

    >>> from gradviz import ir
    >>> validate(ir.Snapshot("demo", nodes=(ir.OpNode("AddBackward0", "op"),)))
    >>> validate(ir.Snapshot("demo", roots=(3,)))
    Traceback (most recent call last):
    gradviz.errors.SnapshotError: The snapshot is damaged: roots[0] is 3, but nodes \
has length 0.
    """
    check_schema(snapshot.schema)
    counts: dict[str, int] = {}
    for name, table in tables().items():
        rows = getattr(snapshot, name)
        _require(isinstance(rows, tuple), f"{name} is not a tuple of rows")
        counts[name] = len(rows)
        for row, record in enumerate(rows):
            if type(record) is not table.record:
                _damaged(f"{name}[{row}] is not a {table.record.__name__}")
    for field in snapshot_fields():
        _check_column([getattr(snapshot, field.name)], field, counts, lambda _row: "")
    for name, table in tables().items():
        rows = getattr(snapshot, name)
        for field in table.fields:
            values = [getattr(record, field.name) for record in rows]
            _check_column(values, field, counts, lambda row, n=name: f"{n}[{row}].")
    _check_tensors(snapshot)
    _check_thumbnails(snapshot)
    _check_scopes(snapshot)
    _check_acyclic(snapshot)


def check_schema(schema: object) -> None:
    """Raise SnapshotError unless snapshots of this schema version can be read."""
    major, minor = ir.SCHEMA_VERSION
    parts = tuple(cast("Iterable[object]", schema)) if _is_pair(schema) else ()
    if not (parts and all(_is_int(part) for part in parts)):
        _damaged("its schema version is missing or not a pair of numbers")
    theirs, ours = f"{parts[0]}.{parts[1]}", f"{major}.{minor}"
    if cast("int", parts[0]) > major:
        raise SnapshotError(
            f"The snapshot was written by a newer gradviz (schema {theirs}, this one "
            f"reads {ours}); please update gradviz to open it."
        )
    if parts[0] != major:
        raise SnapshotError(
            f"The snapshot has the old schema {theirs}, which this gradviz (schema "
            f"{ours}) no longer reads; please record it again."
        )


def _check_column(
    values: list[Any],
    field: Field,
    counts: dict[str, int],
    owner: Callable[[int], str],
) -> None:
    """Check the values of one field over all rows of its table."""
    accepts = _ACCEPTS[field.kind]
    limit = counts[field.refers] if field.refers else 0
    for row, value in enumerate(values):
        if value is None and field.optional:
            continue
        if not accepts(value):
            _damaged(f"{owner(row)}{field.name} is not {_EXPECTED[field.kind]}")
        if field.values and value not in field.values:
            _damaged(f"{owner(row)}{field.name} has the unknown value {value!r:.60}")
        if field.refers is None:
            continue
        lowest = -1 if field.sparse else 0
        many = field.kind == "ints"
        numbers = cast("tuple[int, ...]", value if many else (value,))
        for place, number in enumerate(numbers):
            if not lowest <= number < limit:
                where = f"{field.name}[{place}]" if many else field.name
                _damaged(
                    f"{owner(row)}{where} is {number}, but {field.refers} has "
                    f"length {limit}"
                )


def _check_tensors(snapshot: ir.Snapshot) -> None:
    for row, tensor in enumerate(snapshot.tensors):
        if any(size < 0 for size in tensor.shape):
            _damaged(f"tensors[{row}].shape has a negative size")
        # A sparse tensor has a shape but no strides.
        if tensor.strides and len(tensor.strides) != len(tensor.shape):
            _damaged(f"tensors[{row}] has another number of strides than of sizes")
    for row, stats in enumerate(snapshot.statistics):
        if any(count < 0 for count in (stats.count, *stats.histogram)):
            _damaged(f"statistics[{row}] counts fewer than no elements")


def _check_thumbnails(snapshot: ir.Snapshot) -> None:
    for row, each in enumerate(snapshot.thumbnails):
        sizes = each.tiles, each.rows, each.columns
        if min(sizes) < 1 or len(each.pixels) > MAX_PIXELS:
            _damaged(f"thumbnails[{row}] has none or too many pixels")
        if math.prod(sizes) != len(each.pixels):
            _damaged(f"thumbnails[{row}] has another number of pixels than it says")
        if not 0 <= min(each.pixels) <= max(each.pixels) <= ir.NAN_PIXEL:
            _damaged(f"thumbnails[{row}] has a pixel that is none")


def _check_scopes(snapshot: ir.Snapshot) -> None:
    rooted = [False] * len(snapshot.scopes)
    for start in range(len(snapshot.scopes)):
        path: list[int] = []
        scope: int | None = start
        while scope is not None and not rooted[scope]:
            if len(path) > len(rooted):
                _damaged(f"scopes[{start}] is its own ancestor")
            path.append(scope)
            scope = snapshot.scopes[scope].parent
        for each in path:
            rooted[each] = True


def _check_acyclic(snapshot: ir.Snapshot) -> None:
    """Remove nodes that nothing unvisited feeds; what remains lies on a cycle."""
    successors: list[list[int]] = [[] for _ in snapshot.nodes]
    waiting = [0] * len(snapshot.nodes)
    for edge in snapshot.edges:
        if edge.kind == "data":
            successors[edge.source].append(edge.target)
            waiting[edge.target] += 1
    ready = [node for node, count in enumerate(waiting) if count == 0]
    seen = 0
    while ready:
        seen += 1
        for target in successors[ready.pop()]:
            waiting[target] -= 1
            if waiting[target] == 0:
                ready.append(target)
    if seen < len(waiting):
        stuck = next(node for node, count in enumerate(waiting) if count > 0)
        _damaged(f"nodes[{stuck}] is on or behind a cycle of data edges")


def _is_int(value: object) -> bool:
    return type(value) is int and -_INT64 <= value < _INT64


def _is_text(value: object) -> bool:
    return type(value) is str


def _is_pair(value: object) -> bool:
    return isinstance(value, (tuple, list)) and len(cast("list[object]", value)) == 2


def _is_tuple_of(check: Callable[[object], bool], value: object) -> bool:
    return type(value) is tuple and all(map(check, cast("tuple[object]", value)))


def _require(condition: bool, complaint: str) -> None:
    if not condition:
        _damaged(complaint)


def _damaged(complaint: str) -> NoReturn:
    raise SnapshotError(f"The snapshot is damaged: {complaint}.")


_ACCEPTS: dict[str, Callable[[Any], bool]] = {
    "int": _is_int,
    "float": lambda value: type(value) is float or (_is_int(value) and _fits(value)),
    "bool": lambda value: type(value) is bool,
    "string": _is_text,
    "ints": lambda value: _is_tuple_of(_is_int, value),
    "strings": lambda value: _is_tuple_of(_is_text, value),
}

_EXPECTED: dict[str, str] = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "a text",
    "ints": "a list of whole numbers",
    "strings": "a list of texts",
}


def _fits(value: int) -> bool:
    return math.isfinite(float(value))
