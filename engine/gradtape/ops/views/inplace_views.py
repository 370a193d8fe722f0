"""Views that change the tensor itself instead of making one: ``t_``, ``squeeze_``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..._backend import backend_of
from ..._dispatch.declare import OPS, make_node_type, method
from ..._dispatch.inplace import note_write
from ..._dispatch.recording import make_node, place
from ..._dispatch.strided_views import Geometry, geometry_of
from ..._dispatch.view_history import check_inplace
from ..._modes.grad_mode import mode
from ..._sparse.array import SparseArray
from ..._tensor.tensor import Tensor, view_info
from .._support import view_geometry as at
from .._support.arguments import spread, wrap_dim


def _declare(name: str, node: str) -> None:
    """Declare an in-place view: its twin's record under PyTorch's other name."""
    record = replace(OPS[name], key=f"{name}_inplace", node_name=node)
    make_node_type(record)
    OPS[record.key] = record


_declare("transpose", "TransposeBackward1")
_declare("t", "TBackward1")
_declare("unsqueeze", "UnsqueezeBackward1")
_declare("_squeeze_all", "SqueezeBackward3")
_declare("_squeeze_dim", "SqueezeBackward4")
_declare("_squeeze_dims", "SqueezeBackward5")
_declare("as_strided", "AsStridedBackward1")


def _moved(
    self: Tensor, name: str, where: Geometry, options: tuple[Any, ...]
) -> Tensor:
    """Let a tensor look elsewhere; record the view ``name`` as what was done to it."""
    if mode.now.duals is not None:
        mode.now.duals.moved(self, lambda each: _moved(each, name, where, options))
    needs = mode.grad and self.requires_grad
    check_inplace(self, needs)
    declared = OPS[f"{name}_inplace"]
    node = make_node(declared, (self,), options, (self,)) if needs else None
    flat = self._storage.flat()
    if flat.dtype != self._data.dtype:
        flat = flat.view(self._data.dtype)
    self._data = backend_of(flat).strided(flat, *where)
    if self._view is not None:
        self._view.offset = where.offset
    elif where.offset:
        self._view = view_info(None, where.offset, "", 0)
    note_write(self, f"{declared.name.strip('_')}_")
    if node is not None:
        place(node, self, mode.now)
        self._nr = 0
        if self._view is not None and self._is_view():
            self._view.version = self._storage.version  # no value was written
    return self


@method("transpose_", "swapdims_")
def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """In-place version of transpose()."""
    check_inplace(self, mode.grad and self.requires_grad)
    if type(self._data) is SparseArray:
        first, second = (wrap_dim(d, self.dim()) for d in (dim0, dim1))
        self._data.rearranged(self._data.swapaxes(first, second))
        return self
    where = at.transposed(geometry_of(self), dim0, dim1)
    return _moved(self, "transpose", where, (dim0, dim1))


@method()
def swapaxes_(self: Tensor, axis0: int, axis1: int) -> Tensor:
    """In-place version of swapaxes()."""
    return transpose_(self, axis0, axis1)


@method()
def t_(self: Tensor) -> Tensor:
    """In-place version of t()."""
    check_inplace(self, mode.grad and self.requires_grad)
    if type(self._data) is SparseArray:
        self._data.check_matrix("t_")
        self._data.rearranged(self._data.T)
        return self
    if self.dim() > 2:
        raise RuntimeError(
            f"t_() expects a tensor with <= 2 dimensions, but self is {self.dim()}D"
        )
    return _moved(self, "t", at.matrix_transposed(geometry_of(self)), ())


@method()
def unsqueeze_(self: Tensor, dim: int) -> Tensor:
    """In-place version of unsqueeze()."""
    check_inplace(self, mode.grad and self.requires_grad)
    return _moved(self, "unsqueeze", at.unsqueezed(geometry_of(self), dim), (dim,))


@method()
def squeeze_(self: Tensor, dim: Any = None, *more: Any) -> Tensor:
    """In-place version of squeeze()."""
    check_inplace(self, mode.grad and self.requires_grad)
    mine, dim = geometry_of(self), (dim, *more) if more else dim
    if dim is None:
        return _moved(self, "_squeeze_all", at.squeezed(mine), ())
    if isinstance(dim, tuple | list):
        return _moved(self, "_squeeze_dims", at.squeezed_dims(mine, dim), (tuple(dim),))
    return _moved(self, "_squeeze_dim", at.squeezed_dim(mine, dim), (dim,))


@method()
def as_strided_(
    self: Tensor, size: Any, stride: Any, storage_offset: int | None = None
) -> Tensor:
    """In-place version of as_strided()."""
    check_inplace(self, mode.grad and self.requires_grad)
    mine = geometry_of(self)
    offset = mine.offset if storage_offset is None else storage_offset
    where = Geometry(spread((size,), "as_strided_"), tuple(stride), offset)
    self.as_strided(*where)  # refuses what is out of bounds
    return _moved(self, "as_strided", where, (mine, where))
