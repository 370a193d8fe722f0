"""What nodes show that needs ops: calling one, and the values that it saved.

Nodes lie below the ops, so these methods are installed on them, as ops install theirs
on tensors.
"""

from __future__ import annotations

from typing import Any

from .._graph.node import Node
from .node_call import call_node
from .saved_attributes import saved_attribute, saved_names


def _call(node: Node, *gradients: Any) -> Any:
    """Run this node alone on gradients; see :func:`call_node`."""
    return call_node(node, gradients)


def _getattr(node: Node, name: str) -> Any:
    if name.startswith(("_saved_", "_raw_saved_")):
        return saved_attribute(node, name)
    raise AttributeError(f"'{node.name()}' object has no attribute '{name}'")


def _dir(node: Node) -> list[str]:
    return [*object.__dir__(node), *saved_names(node)]


for _name, _method in (("call", _call), ("getattr", _getattr), ("dir", _dir)):
    _method.__name__ = f"__{_name}__"
    _method.__qualname__ = f"Node.__{_name}__"
    setattr(Node, _method.__name__, _method)
