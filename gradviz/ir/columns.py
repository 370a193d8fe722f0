"""Snapshots as columns: the binary form that the page and the widget receive.

``GVC1``, the length of the header as a little-endian uint32, a JSON header padded with
spaces so that the body starts at a multiple of 8, then the body: typed arrays that a
browser can look into without copying. Over the wire it is deflated (:func:`pack`).

Integers beyond int32 travel as float64, the only wider number a browser has, so beyond
2**53 they are rounded.
"""

from __future__ import annotations

import json
import zlib
from typing import Any, cast

import numpy as np

from gradviz import ir
from gradviz.errors import SnapshotError
from gradviz.ir.bounds import check_bytes, check_header, check_rows
from gradviz.ir.fields import Field, Table, snapshot_fields, tables
from gradviz.ir.json import parse_json
from gradviz.ir.reader import DTYPES, TRUNCATED, Reader, claims
from gradviz.ir.validate import check_schema, validate

MAGIC = b"GVC1"


def encode(snapshot: ir.Snapshot) -> bytes:
    """Return the snapshot as columns, not deflated."""
    writer = _Writer()
    described = {
        name: writer.table(table, getattr(snapshot, name))
        for name, table in tables().items()
        if getattr(snapshot, name)
    }
    header: dict[str, Any] = {"schema": list(snapshot.schema)}
    header |= {f.name: getattr(snapshot, f.name) for f in snapshot_fields()}
    header |= {"strings": list(writer.strings), "tables": described}
    text = json.dumps(header, separators=(",", ":"), allow_nan=False).encode()
    text += b" " * (-len(text) % 8)
    return b"".join((MAGIC, len(text).to_bytes(4, "little"), text, *writer.body))


def decode(data: bytes) -> ir.Snapshot:
    """Return the snapshot in these columns; raise SnapshotError if there is none."""
    return _read(_Plain(data), len(data))


def pack(snapshot: ir.Snapshot) -> bytes:
    """Return the snapshot as deflated columns, as the page and the widget want it."""
    # Level 1: 10,000 nodes take 3 ms and higher levels save a few per cent more.
    return zlib.compress(encode(snapshot), 1)


def unpack(data: bytes) -> ir.Snapshot:
    """Return the snapshot in deflated columns; raise SnapshotError if there is none."""
    return _read(_Deflated(data), len(data))


def _read(source: _Plain | _Deflated, size: int) -> ir.Snapshot:
    """Read the header, weigh what it claims against the file's size, then the body."""
    start = source.take(8)
    if not start.startswith(MAGIC):
        raise SnapshotError("This is not a gradviz snapshot.")
    length = int.from_bytes(start[4:], "little")
    if len(start) < 8 or length % 8:
        raise SnapshotError(TRUNCATED)
    check_header(length, size)
    header = parse_json(_whole(source, length))
    if not isinstance(header, dict):
        raise SnapshotError("This is not a gradviz snapshot.")
    header = cast("dict[str, Any]", header)
    check_schema(header.get("schema"))
    rows, nbytes = claims(header)
    check_rows(rows, size)
    check_bytes(nbytes, size)
    reader = Reader(memoryview(_whole(source, nbytes)), header)
    if source.take(1):
        raise SnapshotError("The snapshot is damaged: its columns end before it does.")
    snapshot = ir.Snapshot(**reader.values(), schema=tuple(header["schema"]))
    validate(snapshot)
    return snapshot


def _whole(source: _Plain | _Deflated, count: int) -> bytes:
    found = source.take(count)
    if len(found) < count:
        raise SnapshotError(TRUNCATED)
    return found


class _Plain:
    """Hands out columns as they are; fewer bytes than asked for are the last ones."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    def take(self, count: int) -> bytes:
        start = self._place
        self._place = start + count
        return self._data[start : self._place]


class _Deflated:
    """Inflates no more than it is asked for."""

    def __init__(self, data: bytes) -> None:
        self._inflater = zlib.decompressobj()
        self._rest = data

    def take(self, count: int) -> bytes:
        if not count:
            return b""  # zlib takes 0 for "everything"
        try:
            found = self._inflater.decompress(self._rest, count)
        except zlib.error:
            raise SnapshotError(
                "This is not a gradviz snapshot, or a damaged one."
            ) from None
        self._rest = self._inflater.unconsumed_tail
        if len(found) < count and not self._inflater.eof:
            raise SnapshotError(TRUNCATED)
        return found


class _Writer:
    """Collects columns into a body and strings into a table."""

    def __init__(self) -> None:
        self.strings: dict[str, int] = {}
        self.body: list[bytes] = []
        self._offset = 0

    def table(self, table: Table, rows: tuple[Any, ...]) -> dict[str, Any]:
        columns: dict[str, Any] = {}
        for field in table.fields:
            values = [getattr(row, field.name) for row in rows]
            if field.required or any(value != field.default for value in values):
                columns[field.name] = self._column(field, values)
        return {"count": len(rows), "columns": columns}

    def _column(self, field: Field, values: list[Any]) -> dict[str, Any]:
        column: dict[str, Any] = {"kind": field.kind}
        extra: dict[str, Any] = {}
        if field.optional and None in values:
            present = [value is not None for value in values]
            extra["present"] = self._array(present, "u8")
            empty = _EMPTY[field.kind]
            values = [empty if value is None else value for value in values]
        if field.kind in ("ints", "strings"):
            starts = np.cumsum([0, *map(len, values)])
            extra["starts"] = self._array(starts, "u32")
            values = [item for value in values for item in value]
        if field.kind in ("string", "strings"):
            known = self.strings
            values = [known.setdefault(text, len(known)) for text in values]
        return column | self._array(values, _dtype_for(field, values)) | extra

    def _array(self, values: Any, dtype: str) -> dict[str, Any]:
        data = np.asarray(values, dtype=DTYPES[dtype]).tobytes()
        place = {"dtype": dtype, "offset": self._offset, "length": len(values)}
        data += b"\0" * (-len(data) % 8)
        self.body.append(data)
        self._offset += len(data)
        return place


def _dtype_for(field: Field, values: list[Any]) -> str:
    if field.kind in ("string", "strings"):
        return "u32"
    if field.kind == "bool":
        return "u8"
    if field.kind == "float":
        return "f64"
    low, high = min(values, default=0), max(values, default=0)
    if field.kind == "ints" and low >= 0 and high < 2**8:
        return "u8"  # pixels
    return "i32" if low >= -(2**31) and high < 2**31 else "f64"


_EMPTY: dict[str, Any] = {
    "int": 0, "float": 0.0, "bool": False, "string": "", "ints": (), "strings": (),
}  # fmt: skip
