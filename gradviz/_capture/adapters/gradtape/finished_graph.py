"""Capture a graph that was built without a recorder: what the nodes remember."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FrameType

from gradtape._debug import Node, Tensor, edge_of
from gradviz import ir
from gradviz._capture.adapters.gradtape.folding import folded_graph
from gradviz._capture.adapters.gradtape.graph_walk import PRODUCER, EngineReader
from gradviz._capture.names.tensors import names_in_frame
from gradviz._capture.names.user_code import users_frame
from gradviz._capture.recorder.assemble import assemble
from gradviz._capture.recorder.raw import RawNode, Recording

NOT_RECORDED = (
    "The graph was built without gradviz.record(): gradients, forward values and "
    "inputs that need no gradient are not known."
)


def read_graph(
    losses: Sequence[Tensor], *, title: str
) -> tuple[ir.Snapshot, Callable[[Node], int | None]]:
    """Walk the finished graph behind tensors, which require grad.

    Returns its snapshot, and which row a live node has in it.
    """
    recording, row_of = _walk(losses, users_frame(), title)
    return assemble(recording), row_of


def graph_of_ends(
    tensors: Sequence[Tensor], frame: FrameType | None, *, title: str
) -> ir.Snapshot:
    """Return the graph behind all these; its roots are those no other one used."""
    recording, _ = _walk(tensors, frame, title)
    used = {id(producer) for raw in recording.nodes for producer in raw.behind}
    recording.roots = [root for root in recording.roots if id(root) not in used]
    recording.notes.remove(NOT_RECORDED)
    return assemble(recording)


def _walk(
    losses: Sequence[Tensor], frame: FrameType | None, title: str
) -> tuple[Recording, Callable[[Node], int | None]]:
    reader = EngineReader()
    reader.names = names_in_frame(frame, Tensor)
    ends = [edge_of(loss) for loss in losses]
    notes = [NOT_RECORDED]
    found = folded_graph([node for node in ends if node is not None])
    if found is not None:
        reader.folded(found)
        notes.append(found.note)
    roots: dict[int, RawNode] = {}
    for loss, node in zip(losses, ends, strict=True):
        assert node is not None  # it requires grad
        root = reader.node(node)
        roots[id(root)] = root
        if loss.grad_fn is not None and loss._nr < len(root.outputs):
            at = loss._nr
            made = (*root.outputs[:at], reader.tensor(loss), *root.outputs[at + 1 :])
            root.outputs = made
    reader.rename(reader.names)
    reader.look_again(reader.made)
    nodes = sorted(
        reader.made, key=lambda raw: -1 if raw.sequence is None else raw.sequence
    )
    rows = {id(raw): row for row, raw in enumerate(nodes)}
    recording = Recording(PRODUCER, title, nodes, list(roots.values()), notes=notes)
    return recording, lambda node: rows.get(id(reader.find(node)))
