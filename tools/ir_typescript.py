"""Writes the TypeScript types of the snapshot from the dataclasses of gradviz/ir.

``python -m tools.ir_typescript`` writes extension/src/ir/types.ts; ``--check`` writes
nothing and fails when the file on disk is not what it would write.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import sys
import tokenize
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any, get_args

from gradviz import ir
from gradviz.ir.fields import Field, Table, fields_of, snapshot_fields, tables

TARGET = Path(__file__).parent.parent / "extension" / "src" / "ir" / "types.ts"

_HEADER = """\
// The records of a snapshot, and what a decoder must know about their fields.
// Generated from gradviz/ir by `python -m tools.ir_typescript`; do not edit.
"""

_SPEC = """\
export type FieldKind = "int" | "float" | "bool" | "string" | "ints" | "strings";

export type FieldDefault = null | number | boolean | string | readonly [];

/** What a decoder needs to know about one field. */
export interface FieldSpec {
  readonly kind: FieldKind;
  /** null is allowed */
  readonly optional: boolean;
  /** absent: the field is always written */
  readonly fallback?: FieldDefault;
  /** the allowed strings; absent: any string */
  readonly values?: readonly string[];
  /** the table that the number, or each of the numbers, is a row of */
  readonly refers?: TableName;
  /** -1 is allowed and means "none" */
  readonly sparse?: true;
}
"""

_TYPES = {
    "int": "number",
    "float": "number",
    "bool": "boolean",
    "string": "string",
    "ints": "readonly number[]",
    "strings": "readonly string[]",
}

# What only a snapshot has: tables, and the pair of its schema version.
_SNAPSHOT_TYPES = {
    name: f"readonly {table.record.__name__}[]" for name, table in tables().items()
} | {"schema": "readonly [number, number]"}

_LITERALS = ("NodeKind", "EdgeKind", "Severity", "EventKind")
_WIDTH = 80  # biome's


def generate() -> str:
    """Return the text of types.ts."""
    tree = ast.parse(inspect.getsource(ir))
    classes = {n.name: n for n in tree.body if isinstance(n, ast.ClassDef)}
    comments = _comments(inspect.getsource(ir))
    version = json.dumps(ir.SCHEMA_VERSION)
    parts = [_HEADER, f"export const SCHEMA_VERSION = {version} as const;\n"]
    parts += [_union(name, get_args(getattr(ir, name))) for name in _LITERALS]
    for table in tables().values():
        parts.append(_interface(table.record, classes, comments))
    parts.append(_interface(ir.Snapshot, classes, comments))
    parts.append(_union("TableName", tuple(tables())))
    parts.append(_SPEC)
    parts.append(_specs())
    return "\n".join(parts)


def _interface(
    record: type, classes: dict[str, ast.ClassDef], comments: dict[int, str]
) -> str:
    node = classes[record.__name__]
    known = {field.name: field for field in fields_of(record)}
    lines = [f"/** {ast.get_docstring(node)} */", f"export interface {node.name} {{"]
    for statement in node.body:
        if not isinstance(statement, ast.AnnAssign):
            continue
        assert isinstance(statement.target, ast.Name)
        name = statement.target.id
        # Also where a formatter has broken the statement into several lines.
        places = range(statement.lineno, (statement.end_lineno or 0) + 1)
        for comment in filter(None, map(comments.get, places)):
            lines.append(f"  /** {comment.replace('None', 'null')} */")
        written = _type(known[name]) if name in known else _SNAPSHOT_TYPES[name]
        lines.append(f"  readonly {name}: {written};")
    return "\n".join([*lines, "}", ""])


def _type(field: Field) -> str:
    written = _TYPES[field.kind]
    for literal in _LITERALS:
        if field.values and field.values == get_args(getattr(ir, literal)):
            written = literal
    return f"{written} | null" if field.optional else written


def _union(name: str, values: tuple[str, ...]) -> str:
    quoted = [json.dumps(value) for value in values]
    line = f"export type {name} = {' | '.join(quoted)};"
    if len(line) > _WIDTH:
        line = f"export type {name} =" + "".join(f"\n  | {v}" for v in quoted) + ";"
    return line + "\n"


def _specs() -> str:
    lines = [
        "/** The columns of every table. */",
        "export const TABLES: Readonly<",
        "  Record<TableName, Readonly<Record<string, FieldSpec>>>",
        "> = {",
    ]
    for table in tables().values():
        lines += [f"  {table.name}: {{", *_table_specs(table, "    "), "  },"]
    lines += [
        "};",
        "",
        "/** The fields of a snapshot that are not tables. */",
        "export const HEADER: Readonly<Record<string, FieldSpec>> = {",
    ]
    for field in snapshot_fields():
        lines += _spec_lines(field, "  ")
    return "\n".join([*lines, "};", ""])


def _table_specs(table: Table, indent: str) -> Iterator[str]:
    for field in table.fields:
        yield from _spec_lines(field, indent)


def _spec_lines(field: Field, indent: str) -> list[str]:
    spec: dict[str, Any] = {"kind": field.kind, "optional": field.optional}
    if not field.required:
        spec["fallback"] = field.default
    if field.values:
        spec["values"] = field.values
    if field.refers:
        spec["refers"] = field.refers
    if field.sparse:
        spec["sparse"] = True
    pairs = [f"{key}: {json.dumps(value)}" for key, value in spec.items()]
    line = f"{indent}{field.name}: {{ {', '.join(pairs)} }},"
    if len(line) <= _WIDTH:
        return [line]
    lines = [f"{indent}{field.name}: {{"]
    for key, value in spec.items():
        lines += _pair_lines(key, value, indent + "  ")
    return [*lines, f"{indent}}},"]


def _pair_lines(key: str, value: Any, indent: str) -> list[str]:
    line = f"{indent}{key}: {json.dumps(value)},"
    if len(line) <= _WIDTH:
        return [line]
    return [f"{indent}{key}: [", *(f'{indent}  "{v}",' for v in value), f"{indent}],"]


def _comments(source: str) -> dict[int, str]:
    """Return the trailing comments of the source, by line."""
    tokens = tokenize.generate_tokens(StringIO(source).readline)
    return {
        token.start[0]: token.string.removeprefix("#").strip()
        for token in tokens
        if token.type == tokenize.COMMENT
    }


def main(arguments: list[str] | None = None) -> int:
    """Write types.ts, or with ``--check`` say whether it is up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args(arguments).check
    text = generate()
    if not check:
        TARGET.parent.mkdir(parents=True, exist_ok=True)
        TARGET.write_text(text, encoding="utf-8")
    elif not TARGET.exists() or TARGET.read_text(encoding="utf-8") != text:
        print(
            f"{TARGET} is not what gradviz/ir says; "
            "run `python -m tools.ir_typescript`.",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
