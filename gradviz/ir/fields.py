"""What the wire formats know about the records of ``ir``: kind, default, reference.

Everything is read off the dataclasses, so a field added there is encoded, validated
and typed in TypeScript without another edit; only what a number *points to* is written
down here, because an ``int`` does not say.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Iterator
from dataclasses import MISSING, dataclass
from typing import Any, Literal

from gradviz import ir

Kind = Literal["int", "float", "bool", "string", "ints", "strings"]

# "Record.field": the table that the number (or each of the numbers) is a row of.
REFERENCES: dict[str, str] = {
    "Site.source": "sources",
    "Scope.parent": "scopes",
    "OpNode.inputs": "tensors",
    "OpNode.outputs": "tensors",
    "OpNode.scope": "scopes",
    "OpNode.site": "sites",
    "OpNode.stack": "sites",
    "OpNode.grad_outputs": "statistics",
    "OpNode.hook_sites": "sites",
    "Edge.source": "nodes",
    "Edge.target": "nodes",
    "Edge.tensor": "tensors",
    "Edge.gradient": "statistics",
    "TensorMeta.storage": "storages",
    "TensorMeta.statistics": "statistics",
    "Saved.node": "nodes",
    "Saved.tensor": "tensors",
    "Write.storage": "storages",
    "Write.site": "sites",
    "Write.node": "nodes",
    "StorageMeta.tensors": "tensors",
    "Thumbnail.statistics": "statistics",
    "Event.node": "nodes",
    "Event.tensor": "tensors",
    "Event.storage": "storages",
    "Event.statistics": "statistics",
    "Event.site": "sites",
    "Event.scope": "scopes",
    "Event.grad": "statistics",
    "Finding.culprit": "sites",
    "Finding.symptom": "sites",
    "Finding.related": "sites",
    "Finding.nodes": "nodes",
    "Finding.tensors": "tensors",
    "Finding.storages": "storages",
    "Finding.edit": "replacements",
    "FlowLayer.node": "nodes",
    "FlowLayer.tensor": "tensors",
    "FlowPoint.step": "flow_steps",
    "FlowPoint.layer": "flow_layers",
    "FlowPoint.gradient": "statistics",
    "LossTerm.site": "sites",
    "TermShare.layer": "flow_layers",
    "TermShare.term": "loss_terms",
    "AnswerStep.answer": "answers",
    "AnswerStep.site": "sites",
    "AnswerStep.node": "nodes",
    "Part.nodes": "nodes",
    "Snapshot.roots": "nodes",
}

# References where -1 stands for "none", because a tuple of numbers cannot hold None.
SPARSE: frozenset[str] = frozenset({"OpNode.grad_outputs", "OpNode.hook_sites"})


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a record, as the encoders see it."""

    name: str
    kind: Kind
    optional: bool  # None is allowed
    required: bool  # there is no default
    default: Any  # meaningless when required
    values: tuple[str, ...] = ()  # the allowed strings; (): any string
    refers: str | None = None  # the table that the number is a row of
    sparse: bool = False  # -1 is allowed and means "none"


@dataclass(frozen=True, slots=True)
class Table:
    """One table of a snapshot: the class of its rows and their fields."""

    name: str
    record: type
    fields: tuple[Field, ...]


@functools.cache
def tables() -> dict[str, Table]:
    """Return the tables of a snapshot by name, in the order of ``ir.Snapshot``."""
    hints = typing.get_type_hints(ir.Snapshot)
    found: dict[str, Table] = {}
    for field in dataclasses.fields(ir.Snapshot):
        record = _row_class(hints[field.name])
        if record is not None:
            found[field.name] = Table(field.name, record, fields_of(record))
    return found


@functools.cache
def snapshot_fields() -> tuple[Field, ...]:
    """Return the fields of a snapshot that are neither tables nor its schema number."""
    return tuple(
        field for field in _fields(ir.Snapshot) if field.name not in {"schema"}
    )


@functools.cache
def fields_of(record: type) -> tuple[Field, ...]:
    """Return the fields of one record class, in order."""
    return tuple(_fields(record))


def _fields(record: type) -> Iterator[Field]:
    hints = typing.get_type_hints(record)
    for field in dataclasses.fields(record):
        if _row_class(hints[field.name]) is None and field.name != "schema":
            yield _describe(record.__name__, field, hints[field.name])


def _describe(owner: str, field: dataclasses.Field[Any], hint: Any) -> Field:
    optional = False
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        arguments = typing.get_args(hint)
        optional = type(None) in arguments
        (hint,) = (each for each in arguments if each is not type(None))
    values: tuple[str, ...] = ()
    if typing.get_origin(hint) is Literal:
        values, hint = typing.get_args(hint), str
    key = f"{owner}.{field.name}"
    return Field(
        name=field.name,
        kind=_KINDS[hint],
        optional=optional,
        required=field.default is MISSING,
        default=None if field.default is MISSING else field.default,
        values=values,
        refers=REFERENCES.get(key),
        sparse=key in SPARSE,
    )


def _row_class(hint: Any) -> type | None:
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) is tuple and dataclasses.is_dataclass(arguments[0]):
        return typing.cast("type", arguments[0])
    return None


_KINDS: dict[Any, Kind] = {
    int: "int",
    float: "float",
    bool: "bool",
    str: "string",
    tuple[int, ...]: "ints",
    tuple[str, ...]: "strings",
}
