"""The validator accepts what producers make and names what is wrong otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from gradviz import ir
from gradviz.errors import SnapshotError
from gradviz.ir.fields import REFERENCES, tables
from gradviz.ir.validate import validate
from tests.gradviz import samples
from tests.gradviz.ir import strategies


@pytest.mark.parametrize("name", samples.SAMPLES)
def test_samples_are_valid(name: str):
    validate(samples.SAMPLES[name]())


@given(strategies.snapshots())
def test_drawn_snapshots_are_valid(snapshot: ir.Snapshot):
    validate(snapshot)


def with_field(snapshot: ir.Snapshot, place: str, value: Any) -> ir.Snapshot:
    """Return the snapshot with ``Record.field`` of the first such row replaced."""
    owner, name = place.split(".")
    if owner == "Snapshot":
        return replace(snapshot, **{name: value})
    table = next(t.name for t in tables().values() if t.record.__name__ == owner)
    first, *rest = getattr(snapshot, table)
    return replace(snapshot, **{table: (replace(first, **{name: value}), *rest)})


@pytest.mark.parametrize("place", sorted(REFERENCES))
@pytest.mark.parametrize("row", [-2, 10**9])
def test_a_reference_to_no_row_is_named(place: str, row: int):
    old = samples.hostile()
    name = place.split(".")[1]
    many = any(
        field.kind == "ints" and field.name == name
        for table in tables().values()
        for field in table.fields
        if table.record.__name__ == place.split(".")[0]
    )
    broken = with_field(old, place, (row,) if many or name == "roots" else row)
    with pytest.raises(SnapshotError, match=rf"{name}.* is {row}, but \w+ has length"):
        validate(broken)


def test_the_row_after_the_last_is_no_row():
    snapshot = samples.mlp()
    validate(replace(snapshot, roots=(len(snapshot.nodes) - 1, 0)))
    with pytest.raises(SnapshotError, match=r"roots\[1\] is 6, but nodes has length 6"):
        validate(replace(snapshot, roots=(0, len(snapshot.nodes))))


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        ("OpNode.name", 3, r"nodes\[0\].name is not a text"),
        ("OpNode.name", None, r"nodes\[0\].name is not a text"),
        ("OpNode.kind", "magic", "unknown value 'magic'"),
        ("OpNode.kind", ["op"], "is not a text"),
        ("OpNode.flags", "freed", "is not a list of texts"),
        ("OpNode.flags", ("freed", 3), "is not a list of texts"),
        ("OpNode.inputs", [0], "is not a list of whole numbers"),
        ("OpNode.inputs", (True,), "is not a list of whole numbers"),
        ("OpNode.sequence", 2**63, "is not a whole number"),
        ("OpNode.sequence", 1.0, "is not a whole number"),
        ("Saved.freed", 1, "is not true or false"),
        ("Finding.severity", "fatal", "unknown value 'fatal'"),
        ("Finding.culprit", "line 3", "is not a whole number"),
        ("Statistics.mean", "1", "is not a number"),
        ("Statistics.count", -1, "fewer than no elements"),
        ("Statistics.histogram", (1, -1), "fewer than no elements"),
        ("TensorMeta.shape", (-1,) * 9, "negative size"),
        ("TensorMeta.strides", (1,), "another number of strides"),
        ("Thumbnail.kind", "film", "unknown value"),
        ("Thumbnail.tiles", 3, "another number of pixels than it says"),
        ("Thumbnail.tiles", 0, "none or too many pixels"),
        ("Thumbnail.rows", -1, "none or too many pixels"),
        ("Thumbnail.pixels", (), "another number of pixels than it says"),
        ("Thumbnail.pixels", (0,) * 1025, "none or too many pixels"),
        ("Thumbnail.pixels", (0, 1, 2, 3, 4, 33), "has a pixel that is none"),
        ("Thumbnail.pixels", (0, 1, 2, 3, 4, -1), "has a pixel that is none"),
        ("Event.kind", "party", "unknown value"),
        ("Snapshot.title", None, "title is not a text"),
        ("Snapshot.nodes", [], "not a tuple of rows"),
        ("Snapshot.nodes", (3,), r"nodes\[0\] is not a OpNode"),
    ],
)
def test_a_wrong_value_is_named(place: str, value: Any, words: str):
    with pytest.raises(SnapshotError, match=words):
        validate(with_field(samples.hostile(), place, value))


def test_a_scope_is_not_its_own_ancestor():
    scopes = (ir.Scope("a", "a", "A", 1), ir.Scope("b", "b", "B", 0))
    with pytest.raises(SnapshotError, match="its own ancestor"):
        validate(ir.Snapshot("p", scopes=scopes))
    with pytest.raises(SnapshotError, match="its own ancestor"):
        validate(ir.Snapshot("p", scopes=(ir.Scope("a", "a", "A", 0),)))


def test_data_edges_have_no_cycle_but_cut_edges_may_close_one():
    nodes = tuple(ir.OpNode(name, "op") for name in "abc")
    ring = [ir.Edge(0, 0, 1, 0), ir.Edge(1, 0, 2, 0), ir.Edge(2, 0, 0, 0)]
    with pytest.raises(SnapshotError, match="cycle"):
        validate(ir.Snapshot("p", nodes=nodes, edges=tuple(ring)))
    ring[2] = replace(ring[2], kind="cut")
    validate(ir.Snapshot("p", nodes=nodes, edges=tuple(ring)))


def test_a_long_chain_needs_no_recursion():
    depth = 20_000
    scopes = tuple(
        ir.Scope(str(i), str(i), "M", i + 1 if i + 1 < depth else None)
        for i in range(depth)
    )
    validate(replace(samples.chain(depth), scopes=scopes))
