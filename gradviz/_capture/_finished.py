"""Capture a graph that was built without a recorder: what the nodes remember."""

from __future__ import annotations

from collections.abc import Callable

from gradtape._node import Node
from gradtape._tensor import Tensor, edge_of
from gradviz import ir
from gradviz._capture._assemble import assemble
from gradviz._capture._engine import PRODUCER, EngineReader
from gradviz._capture._names import names_in_frame
from gradviz._capture._own import users_frame
from gradviz._capture._raw import Recording

NOT_RECORDED = (
    "The graph was built without gradviz.record(): gradients, forward values and "
    "inputs that need no gradient are not known."
)


def read_graph(
    loss: Tensor, *, title: str
) -> tuple[ir.Snapshot, Callable[[Node], int | None]]:
    """Walk the finished graph behind ``loss``.

    Returns its snapshot, and which row a live node has in it. The tensor requires grad.
    """
    node = edge_of(loss)
    assert node is not None  # it requires grad
    reader = EngineReader()
    reader.names = names_in_frame(users_frame(), Tensor)
    root = reader.node(node)
    if loss.grad_fn is not None and loss._nr < len(root.outputs):
        root.outputs[loss._nr] = reader.tensor(loss)
    reader.rename()
    nodes = sorted(
        reader.made, key=lambda raw: -1 if raw.sequence is None else raw.sequence
    )
    rows = {id(raw): row for row, raw in enumerate(nodes)}
    recording = Recording(PRODUCER, title, nodes, [root], notes=[NOT_RECORDED])
    return assemble(recording), lambda node: rows.get(id(reader.node(node)))
