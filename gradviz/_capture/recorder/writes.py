"""What an in-place call wrote: the op inside a CopySlices, its part of the tensor."""

from __future__ import annotations

from gradviz._capture.recorder.call_text import arguments_of
from gradviz._capture.recorder.engine import Translated
from gradviz._capture.recorder.raw import RawNode, RawWrite
from gradviz.program.events import Call

COPY_SLICES = "CopySlices"


def add_writes(graph: Translated, call: Call) -> None:
    """Log the writes of a call, and tell its node what it wrote."""
    made = [graph.nodes[key] for key in call.nodes if key in graph.nodes]
    # A view that was written gets a node of its own behind the one that wrote.
    slices = [raw for raw in made if raw.name == COPY_SLICES]
    node = (slices or made or [None])[-1]
    for write in call.writes:
        storage = graph.storage(write.value)
        if storage is not None:
            storage.version = max(storage.version, write.after)
            storage.wrote(RawWrite(write.after, call.op, call.site, node))
    if node is not None and node.kind == "inplace" and len(call.writes) == 1:
        if slices:
            _name_inside(graph, node, call)
        _lay_out(graph, node, call)


def _name_inside(graph: Translated, node: RawNode, call: Call) -> None:
    node.call, node.arguments = call.op, arguments_of(call)
    values = (call.writes[0].value, *call.inputs[1:])
    node.inputs = [graph.tensor(value) for value in values]


def _lay_out(graph: Translated, node: RawNode, call: Call) -> None:
    """Say where the result lies: in the memory that was written, as it lay before."""
    output, write = node.outputs[0] if node.outputs else None, call.writes[0]
    if output is None or output.storage is not None:
        return
    output.storage, output.version = graph.storage(write.value), write.after
    befores = [
        edge.producer.outputs[edge.output]
        for edge in node.edges
        if edge.input == 0 and edge.output < len(edge.producer.outputs)
    ]
    befores.append(graph.tensor(write.value))
    for before in befores:
        if before.shape == output.shape:
            output.strides, output.offset = before.strides, before.offset
            output.is_view = before.is_view
            return
