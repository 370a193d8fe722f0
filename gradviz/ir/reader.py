"""Looks up the columns of a binary snapshot; trusts nothing that its header claims."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from gradviz.errors import SnapshotError
from gradviz.ir.fields import Field, Table, snapshot_fields, tables

DTYPES = {"u8": "u1", "i32": "<i4", "u32": "<u4", "f64": "<f8"}
_ALLOWED = {
    "int": {"i32", "u32", "u8", "f64"},
    "ints": {"i32", "u32", "u8", "f64"},
    "float": {"f64"},
    "bool": {"u8"},
    "string": {"u32"},
    "strings": {"u32"},
}
_NONE: NDArray[Any] = np.empty(0, np.uint8)
TRUNCATED = "The snapshot is truncated: it ends before the data its header announces."


def claims(header: dict[str, Any]) -> tuple[int, int]:
    """Return how many rows, and bytes of columns, a header announces.

    Raises SnapshotError unless the columns lie one after another, with no overlap and
    no hole. A column that only a newer gradviz knows counts too.
    """
    rows, places = 0, list[tuple[int, int, str]]()
    for table, entry in _mapping(header.get("tables", {}), "tables").items():
        entry = _mapping(entry, table)
        rows += _count(entry.get("count"), table)
        for name, column in _mapping(entry.get("columns"), table).items():
            places += _places(_mapping(column, name), f"{table}.{name}")
    end = 0
    for offset, nbytes, where in sorted(places):
        if offset != end:
            raise SnapshotError(
                f"The snapshot is damaged: {where} does not begin where the column "
                "before it ends."
            )
        end += nbytes + -nbytes % 8
    return rows, end


def _places(column: dict[str, Any], where: str) -> Iterator[tuple[int, int, str]]:
    """Yield where the arrays of a column begin, and how long they are."""
    parts = [part for part in column.values() if isinstance(part, dict)]
    for place in (column, *cast("list[dict[str, Any]]", parts)):
        dtype = place.get("dtype")
        if not isinstance(dtype, str) or dtype not in DTYPES:
            raise _damaged(where)
        size = np.dtype(DTYPES[dtype]).itemsize
        length = _count(place.get("length"), where)
        yield _count(place.get("offset"), where), length * size, where


def _count(value: object, where: str) -> int:
    if type(value) is not int or value < 0:
        raise _damaged(where)
    return value


def _mapping(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _damaged(where)
    return cast("dict[str, Any]", value)


class Reader:
    """Looks columns up in a body whose places :func:`claims` has checked."""

    def __init__(self, body: memoryview, header: dict[str, Any]) -> None:
        self._body = body
        self._header = header
        strings = header.get("strings", [])
        if not isinstance(strings, list) or not all(
            isinstance(text, str) for text in cast("list[Any]", strings)
        ):
            raise _damaged("its table of texts")
        self._strings = cast("list[str]", strings)

    def values(self) -> dict[str, Any]:
        """Return the snapshot's fields and tables; the validator judges them."""
        values = self._snapshot_values()
        described = self._header.get("tables", {})
        for name, table in tables().items():
            if name in described:
                values[name] = self._table(table, described[name])
        return values

    def _snapshot_values(self) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for field in snapshot_fields():
            if field.name in self._header:
                value = self._header[field.name]
                if isinstance(value, list):
                    value = tuple(cast("list[Any]", value))
                values[field.name] = value
            elif field.required:
                raise SnapshotError(f"The snapshot is damaged: it has no {field.name}.")
        return values

    def _table(self, table: Table, entry: dict[str, Any]) -> tuple[Any, ...]:
        count, columns = entry["count"], entry["columns"]
        # A required column has an entry per row, so the body's size bounds the count
        # before anything of that length is made.
        fields = sorted(table.fields, key=lambda field: not field.required)
        found: dict[str, list[Any]] = {}
        for field in fields:
            where = f"{table.name}.{field.name}"
            if field.name in columns:
                column = columns[field.name]
                found[field.name] = self._column(field, column, count, where)
            elif field.required and count:
                raise SnapshotError(f"The snapshot is damaged: it has no {where}.")
        names = tuple(found)
        rows = zip(*found.values(), strict=True)
        return tuple(table.record(**dict(zip(names, row, strict=True))) for row in rows)

    def _column(
        self, field: Field, column: dict[str, Any], count: int, where: str
    ) -> list[Any]:
        if column.get("kind") != field.kind:
            raise _damaged(where)
        items = self._array(column, _ALLOWED[field.kind], where)
        present = self._present(field, column, count, where)
        if field.kind in ("ints", "strings"):
            values = self._lists(field, column, items, count, where)
        elif len(items) != count:
            raise _damaged(where)
        else:
            values = self._items(field, items, present, where)
        if present is None:
            return values
        return [v if p else None for v, p in zip(values, present, strict=True)]

    def _present(
        self, field: Field, column: dict[str, Any], count: int, where: str
    ) -> list[int] | None:
        if "present" not in column:
            return None
        flags = self._array(_mapping(column["present"], where), {"u8"}, where)
        if len(flags) != count or not field.optional:
            raise _damaged(where)
        return flags.tolist()

    def _lists(
        self,
        field: Field,
        column: dict[str, Any],
        items: NDArray[Any],
        count: int,
        where: str,
    ) -> list[Any]:
        described = _mapping(column.get("starts"), where)
        starts = self._array(described, {"u32"}, where)
        if (
            len(starts) != count + 1
            or starts[0] != 0
            or starts[-1] != len(items)
            or bool(np.any(starts[1:] < starts[:-1]))
        ):
            raise _damaged(where)
        flat = self._items(field, items, None, where)
        bounds = starts.tolist()
        return [tuple(flat[a:b]) for a, b in itertools.pairwise(bounds)]

    def _items(
        self, field: Field, items: NDArray[Any], present: list[int] | None, where: str
    ) -> list[Any]:
        if field.kind == "bool":
            return (items != 0).tolist()
        if field.kind == "float":
            return items.tolist()
        if field.kind in ("int", "ints"):
            if items.dtype.kind == "f" and not bool(np.all(items == np.trunc(items))):
                raise _damaged(where)  # NaN is caught too: it differs from itself
            if items.dtype.kind == "f" and bool(np.any(np.abs(items) > 2.0**63)):
                raise _damaged(where)
            return [int(item) for item in items.tolist()]
        if present is not None:
            items = np.where(np.asarray(present) != 0, items, 0)
        if len(items) and int(items.max()) >= len(self._strings):
            if present is not None and not any(present):
                return [None] * len(items)
            raise _damaged(where)
        return [self._strings[item] for item in items.tolist()]

    def _array(
        self, place: dict[str, Any], allowed: set[str], where: str
    ) -> NDArray[Any]:
        dtype, offset, length = place["dtype"], place["offset"], place["length"]
        if dtype not in allowed:
            raise _damaged(where)
        if not length:
            return _NONE
        return np.frombuffer(self._body, DTYPES[dtype], length, offset)


def _damaged(where: str) -> SnapshotError:
    return SnapshotError(f"The snapshot is damaged: {where} cannot be read.")
