"""Nodes of pointwise ops keep their one or two saved values in slots of their own.

Long chains of such ops grow to millions of nodes, and every Python object in them costs
memory and the garbage collector's time. So these nodes have no tuple of saved values,
and what nobody wrote is kept bare, at version 0 and with nothing to remember: an input
as the tensor, a result as its memory. All other code asks for ``node.saved`` and sees a
tuple of SavedTensors, made when it looks.
"""

from __future__ import annotations

from typing import Any

from .._common.compiled import compiled
from .._graph.node import SavedTensor, new_object
from .._storage.storage import Storage
from .._tensor.tensor import Tensor


class _Freed:
    """What stands in the slots once the graph was freed."""


FREED: Any = _Freed()


def slots_for(count: int) -> dict[str, Any]:
    """Return the members of a node class that keeps ``count`` values, 1 or 2."""
    if count == 1:
        saved, slots, free = property(_one, _keep_one), ("kept0",), _free_one
    else:
        saved, slots, free = property(_two, _keep_two), ("kept0", "kept1"), _free_two
    return {"__slots__": slots, "saved": saved, "free": free}


def _one(node: Any) -> tuple[Any, ...] | None:
    kept = node.kept0
    if kept is FREED:
        return None
    if type(kept) is Tensor or type(kept) is Storage:
        node.kept0 = kept = _as_saved(kept)
    return (kept,)


def _two(node: Any) -> tuple[Any, ...] | None:
    first, second = node.kept0, node.kept1
    if first is FREED or second is FREED:
        return None
    if type(first) is Tensor:
        node.kept0 = first = _as_saved(first)
    if type(second) is Tensor:
        node.kept1 = second = _as_saved(second)
    return first, second


def _keep_one(node: Any, saved: tuple[Any, ...] | None) -> None:
    (node.kept0,) = (FREED,) if saved is None else saved


def _keep_two(node: Any, saved: tuple[Any, ...] | None) -> None:
    node.kept0, node.kept1 = (FREED, FREED) if saved is None else saved


def _free_one(node: Any) -> None:
    node.kept0 = FREED


def _free_two(node: Any) -> None:
    node.kept0 = node.kept1 = FREED


def _as_saved(kept: Tensor | Storage) -> SavedTensor:
    saved: SavedTensor = new_object(SavedTensor)
    saved.version = 0
    if isinstance(kept, Tensor):
        saved.memory, saved.tensor = kept._memory, kept
    else:
        saved.memory, saved.tensor, saved.held = kept, None, kept.owner
    return saved


_free_one = compiled(_free_one)
_free_two = compiled(_free_two)
