"""Ops whose options are index tensors: freeing a graph forbids using them again."""

from __future__ import annotations

from typing import Any

from .._define import OPS
from .._errors import BACKWARD_TWICE
from .._node import Node


def frees_options(*keys: str) -> None:
    """Let the nodes of these ops, which save no tensor, be freed as if they did.

    PyTorch saves the indices, so that a second backward through them is refused.
    """
    for key in keys:
        node_type: Any = OPS[key].node_type
        node_type.keeps = True
        node_type.free = _free
        node_type.run = _refusing(node_type.run)


def _free(node: Node) -> None:
    node.saved = None


def _refusing(run: Any) -> Any:
    def refuse_or_run(self: Node, F: Any, grad: Any) -> Any:
        if self.saved is None:
            raise RuntimeError(BACKWARD_TWICE)
        return run(self, F, grad)

    return refuse_or_run
