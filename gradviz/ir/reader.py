"""Looks up the columns of a binary snapshot; trusts nothing that its header claims."""

from __future__ import annotations

import itertools
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from gradviz.errors import SnapshotError
from gradviz.ir.fields import Field, Table, snapshot_fields

DTYPES = {"u8": "u1", "i32": "<i4", "u32": "<u4", "f64": "<f8"}
_ALLOWED = {
    "int": {"i32", "u32", "u8", "f64"},
    "ints": {"i32", "u32", "u8", "f64"},
    "float": {"f64"},
    "bool": {"u8"},
    "string": {"u32"},
    "strings": {"u32"},
}
# An entry takes about 40 bytes as a Python object, deflated as little as 1/1000.
MAX_ITEMS = 20_000_000

_NONE: NDArray[Any] = np.empty(0, np.uint8)
TRUNCATED = "The snapshot is truncated: it ends before the data its header announces."


class Reader:
    """Looks columns up in a body, trusting nothing that the header claims."""

    def __init__(self, body: memoryview, header: dict[str, Any]) -> None:
        self._body = body
        self._header = header
        strings = header.get("strings", [])
        if not isinstance(strings, list) or not all(
            isinstance(text, str) for text in cast("list[Any]", strings)
        ):
            raise _damaged("its table of texts")
        self._strings = cast("list[str]", strings)

    def mapping(self, value: object, where: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _damaged(where)
        return cast("dict[str, Any]", value)

    def snapshot_values(self) -> dict[str, Any]:
        """Return the fields that the header holds itself; the validator judges them."""
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

    def table(self, table: Table, described: object) -> tuple[Any, ...]:
        entry = self.mapping(described, table.name)
        count = entry.get("count")
        columns = self.mapping(entry.get("columns"), table.name)
        if type(count) is not int or count < 0:
            raise _damaged(table.name)
        # A required column has an entry per row, so the body's size bounds the count
        # before anything of that length is made.
        fields = sorted(table.fields, key=lambda field: not field.required)
        found: dict[str, list[Any]] = {}
        for field in fields:
            where = f"{table.name}.{field.name}"
            if field.name in columns:
                column = self.mapping(columns[field.name], where)
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
        flags = self._array(self.mapping(column["present"], where), {"u8"}, where)
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
        described = self.mapping(column.get("starts"), where)
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
        dtype, offset, length = (place.get(k) for k in ("dtype", "offset", "length"))
        if (
            not isinstance(dtype, str)
            or dtype not in allowed
            or type(offset) is not int
            or type(length) is not int
            or offset < 0
            or offset % 8
            or length < 0
        ):
            raise _damaged(where)
        kind = np.dtype(DTYPES[dtype])
        if offset + length * kind.itemsize > len(self._body):
            raise SnapshotError(TRUNCATED)
        if length > MAX_ITEMS:
            raise SnapshotError(
                f"The snapshot claims {length:,} entries of {where}, which no "
                "recording has; it was not read."
            )
        return np.frombuffer(self._body[offset:], kind, length) if length else _NONE


def _damaged(where: str) -> SnapshotError:
    return SnapshotError(f"The snapshot is damaged: {where} cannot be read.")
