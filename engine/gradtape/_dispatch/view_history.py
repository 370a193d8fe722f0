"""History of views: what a write through a view or its base does to the graph.

A write through a view changes the base, so the base gets a ``CopySlices`` node whose
inner node is the write; every other view of the base finds its storage at a new version
and regenerates its ``grad_fn`` as an ``AsStridedBackward0`` of the base's.
"""

from __future__ import annotations

import weakref
from typing import Any

from .._backend import backend_of
from .._common import messages as _errors
from .._dtypes import dtype as DType
from .._graph.node import Node, new_object
from .._graph.output_layout import layout_of
from .._graph.registry import OPS
from .._modes.grad_mode import mode
from .._tensor.tensor import Tensor, edge_of, install_regenerate, wrap_shared
from .._tensor.write_observers import before_write
from .recording import place
from .strided_views import Geometry, geometry_of

Step = tuple[str, Geometry]
"""One look from a base towards a view: the op that changes the dtype, "" for none, and
how the result lies in memory. Most views are one step away from their base."""

_BACK = {"view_as_real": "view_as_complex", "view_as_complex": "view_as_real"}


class CopySlices(Node):
    """A write into a part of a tensor: ``inner`` is the write, the rest passes by."""

    __slots__ = ("base_geometry", "inner", "steps")

    inner: Node
    base_geometry: Geometry
    steps: tuple[Step, ...]
    op_name = "copy_slices"

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        if self.saved is None:
            raise RuntimeError(_errors.BACKWARD_TWICE)
        at, looks = self.base_geometry, list[Any]()
        part = grad
        for name, outer in self.steps:
            looks.append((part, at))
            part = (
                getattr(F, name)(part) if name else F._strided_gather(part, at, outer)
            )
            at = outer
        into, *others = self.inner.run(F, part)
        if self.nodes[0] is None:
            return (None, *others)
        if into is None:
            into = F.zeros_like(part)
        elif 0 not in at.size and any(
            n > 1 and not s for n, s in zip(at.size, at.stride, strict=True)
        ):
            raise RuntimeError(_errors.OVERLAPPING_WRITE)  # the gradient's own place
        elif tuple(into.shape) != at.size:
            into = F.expand(into, at.size)
        for (name, outer), (whole, at) in zip(
            self.steps[::-1], looks[::-1], strict=True
        ):
            if name:
                into = getattr(F, _BACK[name])(into)
            else:
                into = F._strided_replace(whole, into, at, outer)
        return (into, *others)

    def free(self) -> None:
        self.saved = None
        self.inner.free()


def regenerate_view(view: Tensor) -> None:
    """Give a view of a written base the history it now has."""
    info = view._view
    assert info is not None
    version = view._storage.version
    base = info.base
    if base is None or (view._grad_fn is None and not base.requires_grad):
        info.version = version
        return
    if info.kind:
        raise _view_error(view, info.kind, _errors.WRITTEN_ELSEWHERE)
    old, number = view._grad_fn, view._nr
    following: tuple[Node | None, int] = edge_of(base), base._nr
    info.version = version  # first: place() must not come back here
    at, steps, dtype = geometry_of(base), steps_to(view), base.dtype
    for name, outer in steps:
        if name:
            to_real = name == "view_as_real"
            dtype = dtype.to_real() if to_real else dtype.to_complex()
        node = new_object(OPS[name or "as_strided"].node_type)
        node.nodes, node.numbers = (following[0],), (following[1],)
        node.saved, node.params = (), () if name else (at, outer)
        seen = view if outer is steps[-1][1] else _seen(view, dtype, outer)
        place(node, seen, mode.now)
        following, at = (node, 0), outer
    view._nr = 0
    keep_retaining(view, old, number)


install_regenerate(regenerate_view)


def steps_to(view: Tensor) -> tuple[Step, ...]:
    """Return the looks that lead from a view's base to the view."""
    info = view._view
    assert info is not None
    return info.steps or (("", geometry_of(view)),)


def note_step(view: Tensor, source: Tensor, name: str, at: Geometry) -> None:
    """Note that ``view`` sees the memory of ``source`` as numbers of another kind."""
    before, info = source._view, view._view
    if info is None or info.base is None:
        return
    steps: tuple[Step, ...] = ()
    if before is not None and before.base is not None:
        steps = steps_to(source)
    info.steps = (*steps, (name, at))


def _seen(view: Tensor, dtype: DType, at: Geometry) -> Tensor:
    """Return a stand-in for what lies between a base and ``view``."""
    storage = view._storage
    flat = storage.flat_as(dtype.numpy)
    return wrap_shared(backend_of(flat).strided(flat, *at), storage)


def keep_retaining(tensor: Tensor, old: Node | None, number: int) -> None:
    """Let ``.grad`` of a tensor with a new ``grad_fn`` still be filled, if it was."""
    extra = tensor._extra
    if extra is None or not extra.retains:
        return
    if old is not None and old.extra is not None:
        old.extra.retain.pop(number, None)
    if tensor._grad_fn is not None:
        tensor._grad_fn.more().retain[tensor._nr] = weakref.ref(tensor)


def check_inplace(target: Tensor, needs_grad: bool) -> None:
    """Refuse a recorded write that PyTorch refuses, in its words."""
    for look in before_write:
        look(target)
    if not (needs_grad and mode.grad) or target.is_inference():
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
    output = ""
    if node is not None:
        output = f"Output {view._nr} of {_errors.op_of_node(node.name())} is a view"
    if node is None or kind in _UNRECORDED:
        which = f"{output} of a view which" if output else "A view"
        unrecorded = _errors.UNRECORDED_VIEW_INPLACE.get(kind, _NO_GRAD)
        start = unrecorded.format(which=which, what=what)
    else:
        start = _errors.VIEW_INPLACE.format(output=output, what=what)
    if kind in _UNRECORDED:
        block = _UNRECORDED[kind]
        return RuntimeError(start + _errors.UNRECORDED_VIEW_ADVICE.format(block=block))
    if kind == "custom_function":
        return RuntimeError(start + _errors.CUSTOM_VIEW_ADVICE)
    return RuntimeError(start + _errors.MULTI_VIEW_ADVICE)


_NO_GRAD = _errors.UNRECORDED_VIEW_INPLACE["no_grad"]
_UNRECORDED = {"no_grad": "no_grad", "inference": "inference_mode"}


def rebase_history(target: Tensor, node: Node) -> None:
    """Make ``node``, the write that was just done, the history of ``target``."""
    info = target._view
    if info is None or info.base is None:
        old, number = target._grad_fn, target._nr
        place(node, target, mode.now)
        target._nr = 0
        keep_retaining(target, old, number)
        return
    base = info.base
    mine, old = (target._grad_fn, target._nr), (base._grad_fn, base._nr)
    place(node, target, mode.now)  # order, site and layout of the write itself
    node.layout = layout_of(target._data)
    copy = new_object(CopySlices)
    copy.inner = node
    copy.base_geometry, copy.steps = geometry_of(base), steps_to(target)
    copy.nodes = (edge_of(base), *node.nodes[1:])
    copy.numbers = (base._nr, *node.numbers[1:])
    copy.saved, copy.params = (None,), ()  # not empty: free() is to reach inner
    place(copy, base, mode.now)
    base._nr = 0
    keep_retaining(base, *old)
    target._grad_fn, target._nr = mine
    regenerate_view(target)
    if node.saved and target._grad_fn is not None:
        node.more().shown = weakref.ref(target._grad_fn)
