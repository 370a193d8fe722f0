"""What a backward pass on gradtape was given, by position or by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradtape._debug import Node, Tensor, edge_of


def roots_of(given: dict[str, Any]) -> list[Tensor]:
    """Return the tensors that a pass begins at, by whichever name they were given."""
    root = given.get("self")
    if type(root) is Tensor:
        return [root]
    for name in ("self", "tensors", "outputs"):
        if name in given:
            return tensors_of(given[name])
    return []


def gradients_of(given: dict[str, Any]) -> Any:
    """Return the gradients that a pass begins with."""
    for name in ("gradient", "grad_tensors", "grad_outputs"):
        if name in given:
            return given[name]
    return None


def tensors_of(value: Any) -> list[Tensor]:
    """Return the tensors in an argument that is one, or several."""
    return [each for each in listed(value) if isinstance(each, Tensor)]


def listed(value: Any) -> list[Any]:
    """Return what an argument holds that stands for one thing, several or none."""
    if value is None:
        return []
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list | tuple) else []


def starts_of(roots: Sequence[Tensor]) -> list[Node]:
    """Return the nodes that a pass from these tensors begins at."""
    nodes = [edge_of(root) for root in roots if root.requires_grad]
    return [node for node in nodes if node is not None and not node.dead]
