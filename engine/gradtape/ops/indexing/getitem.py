"""What ``x[...]`` means: slices and numbers are views, index arrays make copies."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from operator import index as to_int
from typing import Any

import numpy as np

from ..._backend import Shell, backend_of
from ..._common.site import user_stacklevel
from ..._dispatch.apply import apply
from ..._dispatch.declare import OPS, Array, method
from ..._dispatch.strided_views import Geometry
from ..._modes.grad_mode import mode
from ..._storage.result_strides import empty_in_order
from ..._tensor.tensor import Tensor, wrap
from .._support.arguments import wrap_dim
from .._support.index_options import frees_options, keep_indices
from .._support.new_tensor import memory_order, row_major
from .._support.operands import hidden_op
from .._support.view_geometry import view_strides
from ..views.permute import _alias
from ..views.reshape import unsqueeze
from ..views.slices import select, slice_view

Indices = list[Tensor | None]

_TOO_MANY = "too many indices for tensor of dimension {}"
_ZERO_DIM = (
    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
    "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number"
)
_NOT_AN_INDEX = (
    "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables "
    "are valid indices (got {})"
)


def read_index(
    self: Tensor, index: Any, writing: bool = False
) -> tuple[Tensor, Indices]:
    """Apply the basic part of an index; return the view and the index tensors left.

    The list has one entry per dimension of the view, up to the last that is indexed;
    a mask of k dimensions stands at the first of them and is followed by k - 1 Nones.
    For ``writing``, an index that selects everything gives the tensor itself.
    """
    if isinstance(index, int) and not isinstance(index, bool):
        return _selected(self, 0, index, 0), []
    if isinstance(index, slice):
        return _sliced(self, 0, index, always=not writing), []
    items = index if isinstance(index, tuple) else _items(index)
    items = [_normal(item) for item in items]
    view, left = _Reader(self, items).read(_skipped(self, items))
    if view is self and not left and not writing:
        view = _alias(self)
    return view, left


class _Reader:
    """Walks along an index expression: the view so far, and the dimension reached."""

    def __init__(self, source: Tensor, items: list[Any]) -> None:
        self.source = self.view = source
        self.items = items
        self.dim = 0
        self.left: Indices = []

    def read(self, skipped: int) -> tuple[Tensor, Indices]:
        for position, item in enumerate(self.items):
            if item is Ellipsis:
                self.dim += skipped  # each of them, as PyTorch counts
            elif item is None:
                self.view = unsqueeze(self.view, self.dim)
                self.dim += 1
            elif isinstance(item, slice):
                self.view = _sliced(self.view, self.dim, item)
                self.dim += 1
            elif isinstance(item, Tensor):
                self.leave(item)
            else:
                self.view = _selected(self.view, self.dim, item, position)
        return self.view, self.left

    def leave(self, item: Tensor) -> None:
        """Note an index tensor; a 0-d mask first makes a dimension for itself."""
        mask = item._data.dtype.kind == "b" or item._data.dtype == np.uint8
        if mask and not item.dim():
            self.view = unsqueeze(self.view, self.dim)
            item = wrap(np.zeros(int(bool(item._data)), np.int64))
            mask = False
        self.left += [None] * (self.dim - len(self.left))
        self.left.append(item)
        self.dim += item.dim() if mask else 1
        self.left += [None] * (self.dim - len(self.left))


def _items(index: Any) -> Sequence[Any]:
    """Return the items of an index that is no tuple; most are a single item."""
    if not isinstance(index, list) or len(index) >= 32:
        return (index,)
    nested = (Tensor, np.ndarray, list, tuple, slice, type(Ellipsis), type(None))
    if not any(isinstance(item, nested) for item in index):
        return (index,)
    _warn_of_sequence()
    return tuple(index)


def _warn_of_sequence() -> None:
    warnings.warn(
        "Using a non-tuple sequence for multidimensional indexing is deprecated and "
        "will be changed in pytorch 2.9; use x[tuple(seq)] instead of x[seq]. In "
        "pytorch 2.9 this will be interpreted as tensor index, x[torch.tensor(seq)], "
        "which will result either in an error or a different result",
        UserWarning,
        stacklevel=user_stacklevel(),
    )


def _normal(item: Any) -> Any:
    """Return an item as None, Ellipsis, a slice, an int, or a tensor."""
    if type(item) in _PLAIN:
        return item
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if isinstance(item, Tensor):
        kind = item._data.dtype
        if not item.dim() and kind.kind in "iu" and kind != np.uint8:
            return int(item._data)
        return item
    if isinstance(item, bool | np.bool_):
        return wrap(np.asarray(bool(item)))
    if hasattr(item, "__index__") and not isinstance(item, np.ndarray):
        return to_int(item)
    if isinstance(item, np.ndarray | Sequence):
        from ..creation.from_data import array_from

        array = array_from(item, None)
        if not array.size and not isinstance(item, np.ndarray):
            array = array.astype(np.int64)  # [] has no floats to refuse
        return _normal(wrap(array))
    raise IndexError(_NOT_AN_INDEX.format(type(item).__name__))


def _dims_of(item: Any) -> int:
    """Return how many dimensions of the indexed tensor an item uses up."""
    if type(item) in _PLAIN:
        return 1
    if item is None or item is Ellipsis:
        return 0
    if isinstance(item, Tensor) and item._data.dtype.kind in "bu":
        return item.dim()
    return 1


_PLAIN = frozenset((int, slice))
"""What most items are, each for one dimension."""


def _skipped(self: Tensor, items: list[Any]) -> int:
    """Return how many dimensions no item is for; refuse more items than there are."""
    ndim = self._data.ndim
    left = ndim - sum(map(_dims_of, items))
    if left < 0:
        raise IndexError(_TOO_MANY.format(ndim))
    return left


def _selected(view: Tensor, dim: int, index: int, position: int) -> Tensor:
    shape = view._data.shape
    if not shape and index == 0:
        raise IndexError(_ZERO_DIM)
    length = shape[dim] if dim < len(shape) else 0  # past a second ellipsis
    if not -length <= index < length:
        raise IndexError(
            f"index {index} is out of bounds for dimension {position} with size "
            f"{length}"
        )
    return select(view, dim, index)


def _sliced(view: Tensor, dim: int, part: slice, always: bool = False) -> Tensor:
    """Slice a dimension; a whole one is left alone where others follow."""
    shape = view._data.shape
    if not shape:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    start, stop, step = part.start, part.stop, part.step
    if not _BOUNDS.issuperset((type(start), type(stop), type(step))):
        start, stop, step = (None if n is None else to_int(n) for n in _bounds(part))
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step is not None and step < 0:
        raise ValueError("step must be greater than zero")
    length = shape[dim] if dim < len(shape) else wrap_dim(dim, len(shape))
    whole = step in (None, 1) and not start and (stop is None or stop >= length)
    if whole and not always:
        return view
    return slice_view(view, dim, start or 0, _LAST if stop is None else stop, step or 1)


_BOUNDS = frozenset((int, type(None)))
_LAST = 2**63 - 1
"""What PyTorch writes for the end of a slice that has none."""


def _bounds(part: slice) -> tuple[Any, Any, Any]:
    for bound in (part.start, part.stop, part.step):
        if bound is not None and not hasattr(bound, "__index__"):
            raise TypeError(
                "slice indices must be integers or None or have an __index__ method"
            )
    return part.start, part.stop, part.step


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
    if source.flags.c_contiguous and found.size:
        return row_major(xp, found)
    arrays = [(d, p) for d, p in enumerate(places) if not isinstance(p, slice)]
    ndim = max(p.ndim for _, p in arrays)
    first, last = arrays[0][0], arrays[-1][0]
    start = first if last - first + 1 == len(arrays) else 0
    indexed = {d for d, _ in arrays}
    rest = [s for d, s in enumerate(source.strides) if d not in indexed]
    operands = [(*rest[:start], *(0,) * ndim, *rest[start:])]
    shape, alike = found.shape, True
    for _, place in arrays:
        wide = xp.broadcast_to(place, shape[start : start + ndim])
        where = Geometry(wide.shape, wide.strides, 0)
        ones = (*(1,) * start, *wide.shape, *(1,) * (len(rest) - start))
        alike = alike and ones == shape
        steps = view_strides(where, ones) or (0,) * len(shape)
        lasting = zip(steps, ones, shape, strict=True)
        operands.append(tuple(0 if n == 1 != m else s for s, n, m in lasting))
    if not found.size and alike:
        return row_major(xp, found)
    order = memory_order(shape, operands)
    if not found.size:
        return empty_in_order(xp, shape, found.dtype, order[::-1])
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
    if len(left) > view.dim():  # as a second ellipsis can bring about
        raise IndexError(f"{_TOO_MANY.format(view.dim())} (got {len(left)})")
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
