"""Hypothesis strategies: any valid snapshot, built from the fields of its records."""

from __future__ import annotations

import string
from dataclasses import replace
from functools import cache
from typing import Any

from hypothesis import strategies as st

from gradviz import ir
from gradviz.ir.fields import Field, snapshot_fields, tables

# Beyond 2**53 the columns round as a browser does, so equality would be the wrong test.
exact_ints = st.integers(-(2**53), 2**53)
texts = st.text(max_size=12) | st.sampled_from(["</script>", "\u202ex", "\ud800", "\0"])
floats = st.floats(allow_nan=False) | st.just(-0.0)


@st.composite
def snapshots(draw: st.DrawFn, max_rows: int = 4) -> ir.Snapshot:
    """Draw a snapshot that passes the validator."""
    counts = {name: draw(st.integers(0, max_rows)) for name in tables()}
    parts: dict[str, Any] = {}
    for name, table in tables().items():
        if not _can_have_rows(table.fields, counts):
            counts[name] = 0
    for name, table in tables().items():
        if not _can_have_rows(table.fields, counts):
            counts[name] = 0
    for name, table in tables().items():
        parts[name] = tuple(
            table.record(**{f.name: draw(values(f, counts)) for f in table.fields})
            for _ in range(counts[name])
        )
    for field in snapshot_fields():
        parts[field.name] = draw(values(field, counts))
    return _consistent(ir.Snapshot(**parts))


def values(field: Field, counts: dict[str, int]) -> st.SearchStrategy[Any]:
    """Return the values that a field may hold, given how many rows each table has."""
    return _values(field, counts[field.refers] if field.refers is not None else 0)


@cache
def _values(field: Field, limit: int) -> st.SearchStrategy[Any]:
    """Return them, made and checked once, given how many rows it may refer to."""
    if field.values:
        base: st.SearchStrategy[Any] = st.sampled_from(field.values)
    elif field.refers is not None:
        lowest = -1 if field.sparse else 0
        rows = st.integers(lowest, limit - 1) if limit > lowest else st.nothing()
        many = 3 if limit > lowest else 0
        lists = st.lists(rows, max_size=many).map(tuple)
        base = lists if field.kind == "ints" else rows
    else:
        base = _PLAIN[field.kind]
    return st.none() | base if field.optional else base


_PLAIN: dict[str, st.SearchStrategy[Any]] = {
    "int": exact_ints,
    "float": floats,
    "bool": st.booleans(),
    "string": texts,
    "ints": st.lists(exact_ints, max_size=4).map(tuple),
    "strings": st.lists(texts, max_size=3).map(tuple),
}


def _can_have_rows(fields: tuple[Field, ...], counts: dict[str, int]) -> bool:
    return all(
        counts[field.refers] > 0
        for field in fields
        if field.refers and field.kind == "int" and field.required
    )


def _consistent(snapshot: ir.Snapshot) -> ir.Snapshot:
    """Repair what single fields cannot know: edges point forward, scopes upwards."""
    edges = tuple(
        replace(edge, source=min(ends), target=max(ends))
        for edge in snapshot.edges
        if (ends := {edge.source, edge.target}) and len(ends) == 2
    )
    scopes = tuple(
        scope
        if scope.parent is None or scope.parent < row
        else replace(scope, parent=None)
        for row, scope in enumerate(snapshot.scopes)
    )
    tensors = tuple(
        replace(tensor, shape=(shape := _sizes(tensor.shape)), strides=shape)
        for tensor in snapshot.tensors
    )
    statistics = tuple(
        replace(each, count=abs(each.count), histogram=_sizes(each.histogram))
        for each in snapshot.statistics
    )
    thumbnails = tuple(map(_with_its_pixels, snapshot.thumbnails))
    return replace(
        snapshot,
        edges=edges,
        scopes=scopes,
        tensors=tensors,
        statistics=statistics,
        thumbnails=thumbnails,
    )


def _with_its_pixels(thumbnail: ir.Thumbnail) -> ir.Thumbnail:
    pixels = tuple(each % (ir.NAN_PIXEL + 1) for each in thumbnail.pixels) or (0,)
    return replace(thumbnail, pixels=pixels, tiles=1, rows=1, columns=len(pixels))


def _sizes(numbers: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(map(abs, numbers))


labels = st.text(string.printable + "\u202e<>&\"'", max_size=30)
