"""Indexing with tensors and masks: ``x[i]``, ``x[mask]``, and writing to them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..._backend import Shell, backend_of
from ..._common.site import user_stacklevel
from ..._dispatch.apply import apply
from ..._dispatch.declare import OPS, Array, method
from ..._dispatch.strided_views import Geometry
from ..._modes.grad_mode import mode
from ..._tensor.tensor import Tensor
from .._support.index_options import frees_options, keep_indices
from .._support.new_tensor import memory_order, row_major
from .._support.operands import hidden_op
from .._support.view_geometry import view_strides
from .basic import Indices, read_index

Sizes = tuple[int, ...]


@hidden_op(
    {
        "self": lambda F, grad, self_shape, places: F._index_put_zeros(
            grad, self_shape, places
        )
    },
    name="index",
)
def _index(xp: Any, self: Array, places: tuple[Any, ...]) -> Any:
    """Gather at index arrays, one per indexed dimension; slices stand for others."""
    return laid_out(xp, self[places], self, places)


frees_options("index")


def laid_out(xp: Any, found: Any, source: Any, places: tuple[Any, ...]) -> Any:
    """Copy what NumPy gathered into the memory order that PyTorch gives it.

    NumPy moves the indexed dimensions of its copy to the front of memory; PyTorch keeps
    the order that the operands suggest, row-major for a row-major source.
    """
    if source.flags.c_contiguous:
        return row_major(xp, found)
    arrays = [(d, p) for d, p in enumerate(places) if not isinstance(p, slice)]
    ndim = max(p.ndim for _, p in arrays)
    first, last = arrays[0][0], arrays[-1][0]
    start = first if last - first + 1 == len(arrays) else 0
    indexed = {d for d, _ in arrays}
    rest = [s for d, s in enumerate(source.strides) if d not in indexed]
    operands = [(*rest[:start], *(0,) * ndim, *rest[start:])]
    shape = found.shape
    for _, place in arrays:
        wide = xp.broadcast_to(place, shape[start : start + ndim])
        where = Geometry(wide.shape, wide.strides, 0)
        ones = (*(1,) * start, *wide.shape, *(1,) * (len(rest) - start))
        steps = view_strides(where, ones) or (0,) * len(shape)
        lasting = zip(steps, ones, shape, strict=True)
        operands.append(tuple(0 if n == 1 != m else s for s, n, m in lasting))
    order = memory_order(shape, operands)
    dense = row_major(xp, found.transpose(order))
    return dense.transpose([order.index(d) for d in range(found.ndim)])


@hidden_op(
    {"self": lambda F, grad, places: F.index(grad, places)},
    node="IndexPutImplBackward0",
)
def _index_put_zeros(xp: Any, self: Array, size: Sizes, places: Any) -> Any:
    """Add up at the index arrays, in zeros, what came in through them."""
    whole = xp.zeros(size, self.dtype)
    xp.add.at(whole, places, self)
    return whole


def places_of(view: Tensor, left: Indices) -> tuple[Any, ...]:
    """Return index tensors as NumPy index arrays; masks become positions.

    Those of a class that keeps its values elsewhere stay what they are, for the class.
    Raises IndexError for positions, masks or dtypes that do not fit the view.
    """
    shape = view._data.shape
    places: list[Any] = [slice(None)] * len(left)
    for dim, item in enumerate(left):
        if item is None:
            continue
        array = item._data
        if type(array) is Shell:
            places[dim] = item
        elif array.dtype.kind == "b" or array.dtype == np.uint8:
            _check_mask(array, shape, dim)
            for k, found in enumerate(array.nonzero()):
                places[dim + k] = found
        else:
            places[dim] = _checked_positions(array, shape[dim], dim)
    if type(view._data) is not np.ndarray:
        xp = backend_of(view._data).xp  # indices may be on the host, as in PyTorch
        places = [p if isinstance(p, slice | Tensor) else xp.asarray(p) for p in places]
    return _in_front(tuple(places))


def _in_front(places: tuple[Any, ...]) -> tuple[Any, ...]:
    while places and isinstance(places[-1], slice):
        places = places[:-1]
    return places


def _check_mask(array: Any, shape: Sizes, dim: int) -> None:
    if array.dtype != bool:
        warnings.warn(
            "indexing with dtype torch.uint8 is now deprecated, please use a dtype "
            "torch.bool instead.",
            UserWarning,
            stacklevel=user_stacklevel(),
        )
    for k, length in enumerate(array.shape):
        if length != shape[dim + k]:
            raise IndexError(
                f"The shape of the mask {list(array.shape)} at index {k} does not "
                f"match the shape of the indexed tensor {list(shape)} at index "
                f"{dim + k}"
            )


def _checked_positions(array: Any, length: int, dim: int) -> Any:
    if array.dtype not in (np.int64, np.int32):
        raise IndexError(
            "tensors used as indices must be long, int, byte or bool tensors"
        )
    if not length and array.size:
        raise IndexError("index is out of bounds for dimension with size 0")
    wrong = (array < -length) | (array >= length)
    if wrong.any():
        raise IndexError(
            f"index {int(array[wrong][0])} is out of bounds for dimension {dim} with "
            f"size {length}"
        )
    return array


@method("__getitem__")
def getitem(self: Tensor, index: Any) -> Tensor:
    """Return the part of a tensor that an index expression selects.

    Ints, slices, None and ``...`` give a view, index tensors and masks a copy.
    """
    view, left = read_index(self, index)
    return selected(view, left) if left else view


def selected(view: Tensor, left: Indices) -> Tensor:
    """Return a copy of what index tensors select; None stands for a dimension."""
    places = places_of(view, left)
    try:
        found = apply(OPS["index"], (view,), (places,))
    except IndexError:
        raise broadcast_refused(places) from None
    if mode.now.watch is not None:
        mode.now.watch.indexed(left, found)
    node = found._grad_fn
    if node is not None:
        keep_indices(node, left)
    return found


def broadcast_refused(places: tuple[Any, ...]) -> IndexError:
    """Build PyTorch's error for index tensors that do not broadcast."""
    shapes = [str(list(p.shape)) for p in places if not isinstance(p, slice)]
    return IndexError(
        "shape mismatch: indexing tensors could not be broadcast together with shapes "
        + ", ".join(shapes)
    )
