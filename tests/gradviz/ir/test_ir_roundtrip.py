"""A snapshot comes back from each wire format exactly as it went in."""

from __future__ import annotations

import json
import math
import struct

import pytest
from hypothesis import given

from gradviz import ir
from gradviz.ir import columns as ir_columns
from gradviz.ir import json as ir_json
from gradviz.ir.fields import tables
from tests.gradviz import samples
from tests.gradviz.ir import strategies


@pytest.mark.parametrize("name", samples.SAMPLES)
def test_samples_survive_every_format(name: str):
    snapshot = samples.SAMPLES[name]()
    # repr, because NaN differs from itself
    assert repr(ir_json.loads(ir_json.dumps(snapshot))) == repr(snapshot)
    assert repr(ir_columns.decode(ir_columns.encode(snapshot))) == repr(snapshot)
    assert repr(ir_columns.unpack(ir_columns.pack(snapshot))) == repr(snapshot)


@given(strategies.snapshots())
def test_any_snapshot_survives_every_format(snapshot: ir.Snapshot):
    assert ir_json.loads(ir_json.dumps(snapshot)) == snapshot
    assert ir_json.loads(ir_json.dumps(snapshot).encode()) == snapshot
    assert ir_columns.unpack(ir_columns.pack(snapshot)) == snapshot


def test_json_spells_what_json_cannot_hold():
    bad = ir.Statistics(3, math.nan, math.inf, -math.inf)
    document = json.loads(ir_json.dumps(ir.Snapshot("p", statistics=(bad,))))
    assert document["statistics"] == [
        {"count": 3, "minimum": "NaN", "maximum": "Infinity", "mean": "-Infinity"}
    ]


def test_json_leaves_defaults_out_and_fills_them_in():
    text = '{"schema": [1, 6], "producer": "p", "nodes": [{"name": "N", "kind": "op"}]}'
    assert ir_json.loads(text) == ir.Snapshot("p", nodes=(ir.OpNode("N", "op"),))
    assert '"flags"' not in ir_json.dumps(ir_json.loads(text))


def test_snapshots_from_before_findings_are_read():
    text = '{"schema": [1, 0], "producer": "p", "nodes": [{"name": "N", "kind": "op"}]}'
    snapshot = ir_json.loads(text)
    assert snapshot.schema == (1, 0)
    assert snapshot.findings == ()
    assert ir_columns.unpack(ir_columns.pack(snapshot)) == snapshot


def test_snapshots_from_before_the_flow_are_read():
    text = '{"schema": [1, 1], "producer": "p", "nodes": [{"name": "N", "kind": "op"}]}'
    snapshot = ir_json.loads(text)
    assert (snapshot.flow_layers, snapshot.flow_steps, snapshot.flow) == ((), (), ())
    assert ir_columns.unpack(ir_columns.pack(snapshot)) == snapshot


def test_a_newer_minor_is_read_and_its_new_fields_ignored():
    document = json.loads(ir_json.dumps(samples.mlp()))
    document["schema"] = [1, 7]
    document["new_table"] = [{"a": 1}]
    document["nodes"][0]["new_field"] = {"b": 2}
    snapshot = ir_json.from_json(document)
    assert snapshot.schema == (1, 7)
    assert snapshot.nodes == samples.mlp().nodes


def test_whole_numbers_in_float_fields_become_floats():
    text = '{"schema":[1,0],"producer":"p","statistics":[{"count":1,"mean":2}]}'
    mean = ir_json.loads(text).statistics[0].mean
    assert type(mean) is float


def test_columns_are_laid_out_as_documented():
    data = ir_columns.encode(samples.mlp())
    assert data[:4] == b"GVC1"
    (length,) = struct.unpack("<I", data[4:8])
    assert (8 + length) % 8 == 0
    header = json.loads(data[8 : 8 + length])
    assert header["schema"] == [1, 6]
    assert header["roots"] == [5]
    nodes = header["tables"]["nodes"]
    assert nodes["count"] == 6
    assert "formula" not in nodes["columns"], "all default: left out"
    name = nodes["columns"]["name"]
    body = data[8 + length :]
    assert (name["kind"], name["dtype"], name["offset"] % 8) == ("string", "u32", 0)
    items = struct.unpack_from("<6I", body, name["offset"])
    assert [header["strings"][item] for item in items] == [
        node.name for node in samples.mlp().nodes
    ]
    inputs = nodes["columns"]["inputs"]
    starts = struct.unpack_from("<7I", body, inputs["starts"]["offset"])
    assert starts == (0, 0, 0, 2, 4, 5, 6)
    site = nodes["columns"]["site"]
    assert body[site["present"]["offset"] :][:6] == bytes([0, 0, 1, 1, 1, 1])


def test_columns_hold_int64_rounded_as_a_browser_does():
    tensor = ir.TensorMeta((2**60 + 1,), (2**31,), 0, "int8", "cpu")
    back = ir_columns.decode(ir_columns.encode(ir.Snapshot("p", tensors=(tensor,))))
    assert back.tensors[0].shape == (2**60,)
    assert back.tensors[0].strides == (2**31,)


def test_every_table_has_a_required_field():
    # The decoder relies on it to bound a claimed row count by the size of the file.
    for table in tables().values():
        assert any(field.required for field in table.fields), table.name
