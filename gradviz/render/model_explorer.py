"""A snapshot as Google's Model Explorer reads it: JSON, a graph of nested nodes."""

from __future__ import annotations

import json
from typing import Any

from gradviz import ir
from gradviz.text import words


def to_model_explorer(snapshot: ir.Snapshot) -> str:
    """Return the graph in Model Explorer's JSON: a collection of one graph.

    Nodes have the names of their ops and lie in the modules that called them; edges run
    as the tensors did. Shapes and dtypes stand at outputs, what else is known of a node
    (its line, its arguments, the gradient that came) among its attributes.

    >>> from gradviz import ir
    >>> nodes = (ir.OpNode("AddBackward0", "op", "add"),)
    >>> found = json.loads(to_model_explorer(ir.Snapshot("demo 1.0", nodes=nodes)))
    >>> found["label"], [node["label"] for node in found["graphs"][0]["nodes"]]
    ('graph', ['add'])
    """
    spaces = _namespaces(snapshot)
    stats = words.gradients(snapshot)
    coming: list[list[dict[str, str]]] = [[] for _ in snapshot.nodes]
    for edge in snapshot.edges:
        coming[edge.target].append(
            {
                "sourceNodeId": str(edge.source),
                "sourceNodeOutputId": str(edge.output),
                "targetNodeInputId": str(edge.input),
            }
        )
    nodes = [
        {
            "id": str(number),
            "label": words.clean(words.label(node), 200),
            "namespace": "" if node.scope is None else spaces[node.scope],
            "incomingEdges": coming[number],
            "attrs": _attributes(snapshot, node, stats[number]),
            "outputsMetadata": [
                _output(place, snapshot.tensors[row])
                for place, row in enumerate(node.outputs)
            ],
        }
        for number, node in enumerate(snapshot.nodes)
    ]
    title = words.clean(snapshot.title, 200) or "graph"
    graph = {"id": title, "nodes": nodes}
    return json.dumps({"label": title, "graphs": [graph]})


def _namespaces(snapshot: ir.Snapshot) -> list[str]:
    """Return the path of each scope; a slash in a name would be a level of its own."""
    names = [
        words.clean(scope.name, 200).replace("/", "\N{DIVISION SLASH}") or "?"
        for scope in snapshot.scopes
    ]
    found: list[str] = []
    for number in range(len(names)):
        parts: list[str] = []
        scope: int | None = number
        while scope is not None:
            parts.append(names[scope])
            scope = snapshot.scopes[scope].parent
        found.append("/".join(reversed(parts)))
    return found


def _attributes(
    snapshot: ir.Snapshot, node: ir.OpNode, stats: list[ir.Statistics]
) -> list[dict[str, str]]:
    told = {
        "grad_fn": node.name,
        "arguments": ", ".join(node.arguments),
        "line": words.place(snapshot, node),
        "source": words.source_line(snapshot, node),
        "gradient": words.gradient(stats),
        "flags": ", ".join(node.flags),
    }
    return [_pair(key, value) for key, value in told.items() if value]


def _output(place: int, tensor: ir.TensorMeta) -> dict[str, Any]:
    # Model Explorer shows this one on the edge.
    shape = f"{tensor.dtype}[{','.join(map(str, tensor.shape))}]"
    told = {"tensor_shape": shape, "tensor_name": tensor.name or ""}
    attributes = [_pair(key, value) for key, value in told.items() if value]
    return {"id": str(place), "attrs": attributes}


def _pair(key: str, value: str) -> dict[str, str]:
    return {"key": key, "value": words.clean(value, 500)}
