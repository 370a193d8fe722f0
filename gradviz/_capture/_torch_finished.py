"""Capture a graph of PyTorch that nobody recorded: what the nodes remember."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradviz import ir
from gradviz._capture._assemble import assemble
from gradviz._capture._names import names_in_frame
from gradviz._capture._own import users_frame
from gradviz._capture._torch_log import TorchLog
from gradviz._capture._torch_snapshot import TorchSnapshot
from gradviz._capture._torch_values import grad_fn_of
from gradviz.program.events import Backward

NOT_RECORDED = (
    "The graph was built without gradviz.record(): gradients, forward values, inputs "
    "that need no gradient and the lines that made the nodes are not known, nor how "
    "results that no node kept lie in memory."
)


def read_graph(
    loss: Any, *, title: str
) -> tuple[ir.Snapshot, Callable[[Any], int | None]]:
    """Walk the finished graph behind ``loss``.

    Returns its snapshot, and which row a live node has in it. The tensor requires grad.
    """
    log = TorchLog(scan=False)
    log.watch_details()
    with log.torch._C.DisableTorchFunction():
        root = grad_fn_of(loss)
        if root is None:
            with log.torch.enable_grad():
                root = loss.view_as(loss).grad_fn.next_functions[0][0]
        log.values.result(loss)
        found = Backward(index=0)
        reached = log.graph.walk([root], found)
        names = names_in_frame(users_frame(), log.torch.Tensor)
    for number, tensor in log.tensors.alive():
        log.program.tensors[number].name = names.get(id(tensor))
    first = log.values.node_key(root)
    graph = TorchSnapshot(log)
    recording = graph.recording(title, [], reached, [first])
    graph.note_stale(found)
    recording.notes.append(NOT_RECORDED)
    rows = {key: row for row, key in enumerate(graph.nodes)}
    return assemble(recording), lambda node: rows.get(log.values.node_key(node))
