"""Whose memory is a gradient? Decides what may be kept or overwritten in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._node import Node, SavedTensor


def is_fresh(
    node: Node, grad: Any, grad_owned: bool, out: Any, outgoing: Sequence[Any]
) -> bool:
    """Tell whether the memory of ``out``, made by ``node``, is referred to only here.

    A formula may hand on its incoming gradient, a view of it, or of a saved tensor;
    none of these may be written or become somebody's ``.grad``.
    """
    memory = _holder(out)
    if sum(o is not None and _holder(o) is memory for o in outgoing) > 1:
        return False
    if isinstance(grad, list):
        return False
    if memory is _holder(grad):
        return grad_owned
    return all(
        memory is not _holder(s.array)
        for s in node.saved or ()
        if type(s) is SavedTensor
    )


def _holder(array: Any) -> Any:
    return array if array.base is None else array.base
