"""History of views: what a write through a view or its base does to the graph.

A write through a view changes the base, so the base gets a ``CopySlices`` node whose
inner node is the write; every other view of the base finds its storage at a new version
and regenerates its ``grad_fn`` as an ``AsStridedBackward0`` of the base's.
"""

from __future__ import annotations

from typing import Any

from . import _errors
from ._apply import finish
from ._define import OPS
from ._mode import mode
from ._node import Node, layout_of, new_object
from ._strided import Geometry, geometry_of
from ._tensor import Tensor, edge_of, install_regenerate


class CopySlices(Node):
    """A write into a part of a tensor: ``inner`` is the write, the rest passes by."""

    __slots__ = ("base_geometry", "inner", "view_geometry")

    inner: Node
    base_geometry: Geometry
    view_geometry: Geometry
    op_name = "copy_slices"

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        base, view = self.base_geometry, self.view_geometry
        part = F._strided_gather(grad, base, view)
        into_part, *others = self.inner.run(F, part)
        if self.nodes[0] is None:
            return (None, *others)
        if into_part is None:
            into_part = F.zeros_like(part)
        elif tuple(into_part.shape) != view.size:
            into_part = F.expand(into_part, view.size)
        return (F._strided_replace(grad, into_part, base, view), *others)

    def free(self) -> None:
        self.saved = ()
        self.inner.free()


def regenerate_view(view: Tensor) -> None:
    """Give a view of a written base the history it now has."""
    info = view._view
    assert info is not None
    version = view._storage.version
    base = info.base
    if base is None or not base.requires_grad:
        info.version = version
        return
    if info.kind:
        raise _view_error(view, info.kind, _errors.WRITTEN_ELSEWHERE)
    node = new_object(OPS["as_strided"].node_type)
    node.nodes, node.numbers = (edge_of(base),), (base._nr,)
    node.saved = ()
    node.params = (geometry_of(base), geometry_of(view))
    info.version = version  # first: finish() must not come back here
    finish(node, view, 3)
    view._nr = 0


install_regenerate(regenerate_view)


def check_inplace(target: Tensor, needs_grad: bool) -> None:
    """Refuse a recorded write that PyTorch refuses, in its words."""
    if not (needs_grad and mode.grad):
        return
    info = target._view
    if info is not None and info.base is not None:
        if info.kind:
            raise _view_error(target, info.kind, _errors.WRITTEN_ITSELF)
        if target.requires_grad and info.base.is_leaf:
            raise RuntimeError(_errors.LEAF_VIEW_INPLACE)
    if target.requires_grad and target.is_leaf:
        raise RuntimeError(_errors.LEAF_INPLACE)


def _view_error(view: Tensor, kind: str, what: str) -> RuntimeError:
    """Build PyTorch's error for a write that a view's history cannot take in."""
    node = view._grad_fn
    if node is None or kind in _UNRECORDED:
        start = _errors.UNRECORDED_VIEW_INPLACE.get(kind, _NO_GRAD).format(what=what)
    else:
        name = _errors.op_of_node(node.name())
        start = _errors.VIEW_INPLACE.format(number=view._nr, node=name, what=what)
    if kind in _UNRECORDED:
        block = _UNRECORDED[kind]
        return RuntimeError(start + _errors.UNRECORDED_VIEW_ADVICE.format(block=block))
    return RuntimeError(start + _errors.MULTI_VIEW_ADVICE)


_NO_GRAD = _errors.UNRECORDED_VIEW_INPLACE["no_grad"]
_UNRECORDED = {"no_grad": "no_grad", "inference": "inference_mode"}


def rebase_history(target: Tensor, node: Node) -> None:
    """Make ``node``, the write that was just done, the history of ``target``."""
    info = target._view
    if info is None or info.base is None:
        finish(node, target, 3)
        target._nr = 0
        return
    base = info.base
    finish(node, target, 3)  # order, site and layout of the write itself
    node.layout = layout_of(target._data)
    copy = new_object(CopySlices)
    copy.inner = node
    copy.base_geometry, copy.view_geometry = geometry_of(base), geometry_of(target)
    copy.nodes = (edge_of(base), *node.nodes[1:])
    copy.numbers = (base._nr, *node.numbers[1:])
    copy.saved, copy.params = (None,), ()  # not empty: free() is to reach inner
    finish(copy, base, 3)
    base._nr = 0
    regenerate_view(target)
