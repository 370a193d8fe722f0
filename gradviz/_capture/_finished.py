"""Capture a graph that was built without a recorder: what the nodes remember."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from gradtape._node import Node
from gradtape._tensor import Tensor, edge_of
from gradviz import ir
from gradviz._capture._assemble import assemble
from gradviz._capture._engine import PRODUCER, EngineReader
from gradviz._capture._names import names_in_frame
from gradviz._capture._own import is_own_file
from gradviz._capture._raw import Recording
from gradviz.errors import CaptureError

NOT_RECORDED = (
    "The graph was built without gradviz.record(): gradients, forward values and "
    "inputs that need no gradient are not known."
)


def read_graph(
    loss: Tensor, *, title: str
) -> tuple[ir.Snapshot, Callable[[Node], int | None]]:
    """Walk the finished graph behind ``loss``.

    Returns its snapshot, and which row a live node has in it. Raises CaptureError
    where there is no graph.
    """
    node = edge_of(loss)
    if node is None:
        raise CaptureError(
            f"the tensor of shape {tuple(loss.shape)} has no graph: it does not "
            "require grad, and nothing it was computed from does. Set "
            "requires_grad=True on an input, and check that grad mode was on."
        )
    reader = EngineReader()
    reader.names = names_in_frame(_caller(), Tensor)
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


def _caller() -> Any:
    frame: Any = sys._getframe(1)
    while frame is not None and is_own_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame
