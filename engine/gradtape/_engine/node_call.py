"""Calling a node as a function of the gradients that arrive at it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from .._dispatch.declare import tensor_ops
from .._graph.node import Node
from .._modes.grad_mode import mode
from .._tensor.tensor import Tensor
from .accumulate import accumulate


def call_node(node: Node, gradients: tuple[Any, ...]) -> Any:
    """Run a node alone, without hooks, and return what it makes of ``gradients``.

    One tensor or None for its only next function, a tuple for several. With gradients
    on, the result is differentiable. Raises TypeError for a wrong number or what is no
    tensor.
    """
    wanted = len(node.layouts)
    if len(gradients) != wanted:
        raise TypeError(f"expected {wanted} arguments, got {len(gradients)} instead")
    for index, each in enumerate(gradients):
        if each is not None and not isinstance(each, Tensor):
            raise TypeError(f"argument {index} is not a Variable")
    if node.accumulates:
        task = SimpleNamespace(create_graph=mode.grad, space=tensor_ops)
        if gradients[0] is not None:
            accumulate(task, node, list(gradients))
        return ()
    if not node.foreign and all(each is None for each in gradients):
        found: tuple[Any, ...] = (None,) * len(node.nodes)
    else:
        found = node.run(tensor_ops, list(gradients) if wanted > 1 else gradients[0])
    return found[0] if len(found) == 1 else tuple(found)
