"""The JSON for Model Explorer holds the recorded graph, and nothing that breaks it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import gradviz
from gradviz import ir
from gradviz.cli import main
from gradviz.render.model_explorer import to_model_explorer
from tests.gradviz import samples


def graph_of(snapshot: ir.Snapshot) -> dict[str, Any]:
    (graph,) = json.loads(to_model_explorer(snapshot))["graphs"]
    return graph


@pytest.mark.parametrize("name", samples.SAMPLES)
def test_it_has_the_nodes_and_edges_of_the_snapshot(name: str):
    snapshot = samples.SAMPLES[name]()
    nodes = graph_of(snapshot)["nodes"]
    assert [node["id"] for node in nodes] == [
        str(row) for row in range(len(snapshot.nodes))
    ]
    edges = [
        (edge["sourceNodeId"], edge["sourceNodeOutputId"], node["id"])
        for node in nodes
        for edge in node["incomingEdges"]
    ]
    assert sorted(edges) == sorted(
        (str(edge.source), str(edge.output), str(edge.target))
        for edge in snapshot.edges
    )


def test_a_recording_is_nested_in_its_modules(lib: Any, engine: Any):
    nn = lib.nn
    model = nn.Sequential(nn.Sequential(nn.Linear(3, 2), nn.ReLU()), nn.Linear(2, 1))
    with gradviz.record(engine=engine) as recorder:
        model(lib.ones(4, 3)).sum().backward()
    nodes = graph_of(recorder.snapshot())["nodes"]
    (relu,) = [node for node in nodes if node["label"] == "relu"]
    assert relu["namespace"] == "Sequential/0/1"
    assert relu["outputsMetadata"][0]["attrs"][0] == {
        "key": "tensor_shape",
        "value": "float32[4,2]",
    }
    told = {each["key"]: each["value"] for each in relu["attrs"]}
    assert told["grad_fn"] == "ReluBackward0"
    assert told["line"].startswith("test_model_explorer.py:")


def test_a_slash_in_a_name_makes_no_level():
    scopes = (ir.Scope("a/b", "a/b", "Odd"), ir.Scope("a/b.c", "c", "Odd", 0))
    nodes = (ir.OpNode("AddBackward0", "op", "add", scope=1),)
    (node,) = graph_of(ir.Snapshot("demo", nodes=nodes, scopes=scopes))["nodes"]
    assert node["namespace"].count("/") == 1


def test_the_command_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    recording = gradviz.export_json(samples.mlp(), tmp_path / "graph.gradviz.json")
    out = tmp_path / "explorer.json"
    command = ["export", "--format", "model-explorer", str(recording), "-o", str(out)]
    assert main(command) == 0
    assert capsys.readouterr().out == f"{out}\n"
    assert json.loads(out.read_text()) == json.loads(to_model_explorer(samples.mlp()))
