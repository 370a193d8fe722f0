"""Where tangents lie: as their tensors do in memory, so that views of both match."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .._backend import backend_of
from .._dispatch.declare import OPS, tensor_ops
from .._dispatch.recording import record
from .._dispatch.strided_views import Geometry, geometry_of
from .._graph.op import Op
from .._modes.grad_mode import mode
from .._tensor.tensor import Tensor, view_info, wrap, wrap_shared
from ..ops._support.declare_view import look
from ..ops.views.reinterpret import view_as_complex


def same_layout(tangent: Tensor, tensor: Tensor) -> bool:
    """Tell whether two tensors lie alike in memory of one size.

    An array that runs backward, which only a fresh result can, need not be matched.
    """
    a, b = tangent._data, tensor._data
    if a.shape != b.shape:
        return False
    if min(b.strides, default=0) < 0:
        return True
    if a.size and any(
        n > 1 and s // a.itemsize != t // b.itemsize
        for n, s, t in zip(a.shape, a.strides, b.strides, strict=True)
    ):
        return False
    if tangent._view is None and tensor._view is None:
        return True  # each fills its own memory
    return _room(tangent) == _room(tensor) and (
        not a.size or tangent.storage_offset() == tensor.storage_offset()
    )


def zeros_laid_out(dtype: Any, tensor: Tensor) -> Tensor:
    """Return zeros of an array dtype that lie as ``tensor`` does."""
    at = geometry_of(tensor)
    backend = backend_of(tensor._data)
    room = max(_room(tensor), at.end)
    memory = wrap(backend.xp.zeros((room,), dtype))
    if at == Geometry((room,), (1,), 0):
        return memory
    part = wrap_shared(backend.strided(memory._data, *at), memory._storage)
    part._view = view_info(None, at.offset, "", 0)
    return part


def own_memory(tangent: Tensor, inputs: Iterable[Tensor | None]) -> Tensor:
    """Return a tangent that a later write can reach through no other tensor."""
    data = tangent._data
    if data.base is None and all(t is None or t._data is not data for t in inputs):
        return tangent
    return tensor_ops.clone(tangent)


def part_of(whole: Tensor, base: Tensor, view: Tensor) -> Tensor:
    """Look at ``whole``, the tangent of ``base``, as ``view`` looks at ``base``."""
    mine, kind = base._data.dtype.kind, view._data.dtype.kind
    at = geometry_of(view)
    if mine != kind and kind == "c":
        stride = (*(s * 2 for s in at.stride), 1)
        pairs = Geometry((*at.size, 2), stride, at.offset * 2)
        return view_as_complex(_recorded_part(whole, pairs))
    if mine != kind and mine == "c":
        whole = tensor_ops.view_as_real(whole)
    return _recorded_part(whole, at)


def _recorded_part(whole: Tensor, at: Geometry) -> Tensor:
    part = look(whole, at)
    if mode.grad:
        record(OPS["as_strided"], (whole,), (geometry_of(whole), at), (part,))
    return part


def parts_of(
    op: Op,
    whole: Tensor,
    source: Tensor,
    views: Sequence[Tensor],
    options: tuple[Any, ...],
) -> tuple[Tensor, ...]:
    """Look at a tangent as ``views`` look at its tensor; record it as ``op``."""
    parts = tuple([_seen_as(whole, source, view) for view in views])
    if mode.now.watch is not None:
        for part in parts:
            mode.now.watch.follow(whole, part)
    if mode.grad and parts:
        record(op, (whole,), options, parts)
    return parts


def _seen_as(whole: Tensor, source: Tensor, view: Tensor) -> Tensor:
    at, dtype = geometry_of(view), view._data.dtype
    kind = "" if view._view is None else view._view.kind
    kind = "multi_output" if kind == "multi_output" else ""
    if dtype is source._data.dtype:
        return look(whole, at, kind)
    flat = whole._storage.flat().view("uint8").view(dtype)
    return look(whole, at, kind, backend_of(flat).strided(flat, *at))


def _room(tensor: Tensor) -> int:
    """Return how many elements the whole memory of a tensor holds."""
    return tensor._storage.nbytes() // tensor._data.itemsize
