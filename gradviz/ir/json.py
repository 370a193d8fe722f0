"""Snapshots as JSON: the format of ``*.gradviz.json`` files, to be kept and diffed.

One row per line, fields that hold their default left out, and numbers that JSON cannot
hold spelled ``"NaN"``, ``"Infinity"`` and ``"-Infinity"``.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn, cast

from gradviz import ir
from gradviz.errors import SnapshotError
from gradviz.ir.bounds import MAX_DEPTH, MAX_LISTS, check_file, check_rows
from gradviz.ir.fields import Field, snapshot_fields, tables
from gradviz.ir.validate import check_schema, validate

MIME_TYPE = "application/vnd.gradviz+json"

_SPELLED = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def dumps(snapshot: ir.Snapshot) -> str:
    """Return the snapshot as JSON text, in ASCII.

    >>> print(dumps(ir.Snapshot("demo 1.0", nodes=(ir.OpNode("AddBackward0", "op"),))))
    {"format": "gradviz", "schema": [1, 6], "producer": "demo 1.0",
    "nodes": [
    {"name": "AddBackward0", "kind": "op"}
    ]}
    """
    head: dict[str, Any] = {"format": "gradviz", "schema": list(snapshot.schema)}
    head |= _record_to_json(snapshot, snapshot_fields())
    parts = [_to_text(head)[:-1]]
    for name, table in tables().items():
        rows = getattr(snapshot, name)
        if rows:
            lines = (_to_text(_record_to_json(row, table.fields)) for row in rows)
            parts.append(f'"{name}": [\n' + ",\n".join(lines) + "\n]")
    return ",\n".join(parts) + "}"


def loads(text: str | bytes) -> ir.Snapshot:
    """Return the snapshot in this JSON text; raise SnapshotError if there is none."""
    check_file(len(text))
    return from_json(parse_json(text))


def parse_json(text: str | bytes) -> Any:
    """Parse JSON strictly; every way in which that fails is a SnapshotError."""
    try:
        if isinstance(text, bytes):
            text = text.decode(json.detect_encoding(text), "surrogatepass")
        if _is_shallow(text.encode("utf-8", "surrogatepass")):
            return json.loads(text, parse_constant=_refuse_constant)
        reason = "it is nested too deeply, or in too many places"
    except json.JSONDecodeError as error:
        reason = f"it stops being JSON at line {error.lineno}, column {error.colno}"
    except UnicodeDecodeError:
        reason = "it is not text"
    except (RecursionError, ValueError) as error:
        # A constant, or a number of thousands of digits; or hardly any stack is left.
        reason = str(error).split(";")[0]
    raise SnapshotError(
        f"This is not a gradviz snapshot, or only part of one: {reason}."
    )


_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_QUOTED = re.compile(rb'"[^"]*"?')
_NO_BRACKETS = bytes(set(range(256)) - set(b'"[]{}'))


def _is_shallow(text: bytes) -> bool:
    """Tell whether the parser can take it, by its brackets alone.

    The parser recurses, and where a program has raised Python's limit that ends the
    process; and an empty list takes 64 bytes of memory for 3 of text.
    """
    if b"\\" in text:
        text = _ESCAPED.sub(b"", text)
    brackets = _QUOTED.sub(b"", text.translate(None, _NO_BRACKETS))
    if brackets.count(b"[") + brackets.count(b"{") > MAX_LISTS:
        return False
    for _ in range(MAX_DEPTH):
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
    return len(brackets) <= MAX_DEPTH  # what is cut short leaves a few open


def from_json(document: object) -> ir.Snapshot:
    """Return the snapshot that a parsed JSON document describes."""
    if not isinstance(document, dict) or "schema" not in document:
        raise SnapshotError("This is JSON, but not a gradviz snapshot.")
    document = cast("dict[str, Any]", document)
    if document.get("format", "gradviz") != "gradviz":
        raise SnapshotError("This is JSON, but not a gradviz snapshot.")
    check_schema(document["schema"])
    values = _record_from_json(document, snapshot_fields(), "the snapshot")
    count = 0
    for name, table in tables().items():
        rows = document.get(name, [])
        if not isinstance(rows, list):
            raise SnapshotError(f"The snapshot is damaged: {name} is not a list.")
        rows = cast("list[Any]", rows)
        check_rows(count := count + len(rows))
        values[name] = tuple(
            table.record(**_record_from_json(row, table.fields, f"{name}[{number}]"))
            for number, row in enumerate(rows)
        )
    snapshot = ir.Snapshot(**values, schema=tuple(document["schema"]))
    validate(snapshot)
    return snapshot


def _record_to_json(record: object, fields: tuple[Field, ...]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for field in fields:
        value = getattr(record, field.name)
        if not field.required and value == field.default:
            continue
        if isinstance(value, float) and not math.isfinite(value):
            value = spell_float(value)
        row[field.name] = value
    return row


def _record_from_json(
    row: object, fields: tuple[Field, ...], where: str
) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise SnapshotError(f"The snapshot is damaged: {where} is not an object.")
    row = cast("dict[str, Any]", row)
    values: dict[str, Any] = {}
    for field in fields:
        if field.name in row:
            values[field.name] = _from_json(row[field.name], field)
        elif field.required:
            raise SnapshotError(
                f"The snapshot is damaged: {where} has no {field.name}."
            )
    return values


def _from_json(value: Any, field: Field) -> Any:
    """Convert what JSON spells differently; the validator judges the result."""
    if isinstance(value, list):
        return tuple(cast("list[Any]", value))
    if field.kind == "float":
        if isinstance(value, str):
            return _SPELLED.get(value, value)
        if type(value) is int and abs(value) < 2**63:
            return float(value)
    return value


def spell_float(value: float) -> str:
    """Return the word that stands for a number which is not finite."""
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _to_text(value: Any) -> str:
    # ASCII: a lone surrogate from a badly decoded source file survives as an escape.
    return json.dumps(value, allow_nan=False)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"it holds the bare word {name}")
