"""Ops whose options are index tensors: freeing a graph forbids using them again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._common.messages import BACKWARD_TWICE
from ..._dispatch.declare import OPS
from ..._graph.node import Node, save_input
from ..._modes.grad_mode import mode
from ..._saved.hooks import pack
from ..._tensor.tensor import Tensor


def frees_options(*keys: str) -> None:
    """Let the nodes of these ops, which save no tensor, be freed as if they did.

    PyTorch saves the indices, so that a second backward through them is refused.
    """
    for key in keys:
        node_type: Any = OPS[key].node_type
        node_type.keeps = True
        node_type.free = _free
        node_type.run = _refusing(node_type.run)


def keep_indices(node: Node, indices: Sequence[Tensor | None]) -> None:
    """Save index tensors beside the arrays made of them, to notice later writes.

    Only for an op of one formula that asks for no saved tensor.
    """
    type(node).slots = ("indices",)
    packing = mode.now.packing
    kept = list(indices)
    while kept and kept[-1] is None:
        kept.pop()
    entries = [
        each
        if each is None
        else pack(each, packing[-1], node=node)
        if packing
        else save_input(each)
        for each in kept
    ]
    node.saved = (tuple(entries),)


def _free(node: Node) -> None:
    node.saved = None


def _refusing(run: Any) -> Any:
    def refuse_or_run(self: Node, F: Any, grad: Any) -> Any:
        if self.saved is None:
            raise RuntimeError(BACKWARD_TWICE)
        for entry in self.saved[0] if self.saved else ():
            if entry is not None:
                F.unpack(self, entry)  # refuses an index that was overwritten
        return run(self, F, grad)

    return refuse_or_run
