"""Indexing with tensors and masks: ``x[i]``, ``x[mask]``, and writing to them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._apply import apply
from .._backend import backend_of
from .._define import OPS, Array, method, op
from .._errors import legacy_type_name
from .._mode import mode
from .._strided import Geometry
from .._tensor import Tensor, wrap
from ._geometry import view_strides
from ._place import dense_copy, memory_order, row_major
from ._warn import warn_once
from ._writing import written
from .create import in_range
from .index_basic import Indices, read_index
from .movement import expanded
from .write import copy_, fill_

Sizes = tuple[int, ...]


@op(
    {
        "self": lambda F, grad, self_shape, places: F._index_put_zeros(
            grad, self_shape, places
        )
    },
    name="index",
    method=False,
    function=False,
)
def _index(xp: Any, self: Array, places: tuple[Any, ...]) -> Any:
    """Gather at index arrays, one per indexed dimension; slices stand for the others."""
    return laid_out(xp, self[places], self, places)


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


@op(
    {"self": lambda F, grad, places: F.index(grad, places)},
    node="IndexPutImplBackward0",
    method=False,
    function=False,
)
def _index_put_zeros(xp: Any, self: Array, size: Sizes, places: Any) -> Any:
    """Add up at the index arrays, in zeros, what came in through them."""
    whole = xp.zeros(size, self.dtype)
    xp.add.at(whole, places, self)
    return whole


def places_of(view: Tensor, left: Indices) -> tuple[Any, ...]:
    """Return index tensors as NumPy index arrays; masks become positions.

    Raises IndexError for positions, masks or dtypes that do not fit the view.
    """
    shape = view._data.shape
    places: list[Any] = [slice(None)] * len(left)
    for dim, item in enumerate(left):
        if item is None:
            continue
        array = item._data
        if array.dtype.kind == "b" or array.dtype == np.uint8:
            _check_mask(array, shape, dim)
            for k, found in enumerate(array.nonzero()):
                places[dim + k] = found
        else:
            places[dim] = _checked_positions(array, shape[dim], dim)
    return _in_front(tuple(places))


def _in_front(places: tuple[Any, ...]) -> tuple[Any, ...]:
    while places and isinstance(places[-1], slice):
        places = places[:-1]
    return places


def _check_mask(array: Any, shape: Sizes, dim: int) -> None:
    if array.dtype != bool:
        warn_once(
            "indexing with dtype torch.uint8 is now deprecated, please use a dtype "
            "torch.bool instead.",
            stacklevel=5,
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
    if not left:
        return view
    places = places_of(view, left)
    try:
        return apply(OPS["index"], (view,), (places,))
    except IndexError:
        raise broadcast_refused(places) from None


def broadcast_refused(places: tuple[Any, ...]) -> IndexError:
    """Build PyTorch's error for index tensors that do not broadcast."""
    shapes = [str(list(p.shape)) for p in places if not isinstance(p, slice)]
    return IndexError(
        "shape mismatch: indexing tensors could not be broadcast together with shapes "
        + ", ".join(shapes)
    )


# ---- writing ----


@op(
    {
        "self": lambda F, grad, places, accumulate: (
            grad if accumulate else F._index_put_number(grad, places)
        ),
        "values": lambda F, grad, places: F.index(grad, places),
    },
    name="index_put",
    method=False,
    function=False,
)
def _index_put(
    xp: Any, self: Array, values: Array, places: Any, accumulate: bool
) -> Any:
    """Copy the argument, with ``values`` written at, or added to, the index arrays."""
    result = dense_copy(xp, self)
    store_at(xp, result, places, values, accumulate)
    return result


@op(
    {"self": lambda F, grad, places: F._index_put_number(grad, places)},
    name="index_put",
    key="_index_put_number",
    method=False,
    function=False,
)
def _index_put_number(xp: Any, self: Array, places: Any) -> Any:
    """Copy the argument, with zeros at the index arrays."""
    result = self.copy()
    result[places] = 0
    return result


def store_at(xp: Any, data: Any, places: Any, values: Any, accumulate: bool) -> None:
    """Write or add values at index arrays; they broadcast to what is indexed."""
    if accumulate:
        xp.add.at(data, places, values)
    else:
        data[places] = values


def _indexed_shape(view: Tensor, places: tuple[Any, ...]) -> Sizes:
    """Return the shape that indexing gives, without touching any element."""
    try:
        return np.broadcast_to(np.empty((), bool), view._data.shape)[
            _on_host(places)
        ].shape
    except IndexError:
        raise broadcast_refused(places) from None


def _on_host(places: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        p if isinstance(p, slice) else backend_of(p).to_host(p) for p in places
    )


def _check_values(view: Tensor, places: tuple[Any, ...], values: Tensor) -> None:
    wanted, given = _indexed_shape(view, places), values._data.shape
    fits = len(given) <= len(wanted) and all(
        n in (1, m) for n, m in zip(given[::-1], wanted[::-1], strict=False)
    )
    if not fits:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(given)} cannot be broadcast to "
            f"indexing result of shape {list(wanted)}"
        )
    if values.dtype is not view.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{view.dtype.cpp_name} for the destination and {values.dtype.cpp_name} for "
            "the source."
        )


def put_at(
    target: Tensor, places: tuple[Any, ...], values: Tensor, accumulate: bool
) -> Tensor:
    """Write values at index arrays of a tensor, in place."""
    _check_values(target, places, values)
    xp = backend_of(target._data).xp
    array = values._data

    def store(data: Any) -> None:
        store_at(xp, data, places, array, accumulate)

    return written(
        "index_put_", "index_put", (target, values), (places, accumulate), store
    )


def _read_indices(self: Tensor, indices: Any) -> tuple[Any, ...]:
    for position, item in enumerate(indices):
        if not isinstance(item, Tensor):
            raise TypeError(
                f"expected Tensor as element {position} in argument 0, but got "
                f"{type(item).__name__}"
            )
    left: Indices = []
    for item in indices:
        left.append(item)
        if item._data.dtype.kind == "b":
            left += [None] * (item.dim() - 1)
    if len(left) > self.dim():
        raise IndexError(
            f"too many indices for tensor of dimension {self.dim()} (got {len(left)})"
        )
    return places_of(self, left)


@method()
def index_put_(
    self: Tensor, indices: Any, values: Tensor, accumulate: bool = False
) -> Tensor:
    """Write, or add, values at the places that index tensors name.

    >>> import gradtape as torch
    >>> torch.zeros(3).index_put_((torch.tensor([1, 1]),), torch.ones(2), True)
    tensor([0., 2., 0.])
    """
    return put_at(self, _read_indices(self, indices), values, accumulate)


@method(function=True)
def index_put(
    input: Tensor,
    indices: Any,
    values: Tensor,
    accumulate: bool = False,
) -> Tensor:
    """Return a copy with values written at, or added to, the places named."""
    places = _read_indices(input, indices)
    _check_values(input, places, values)
    return apply(OPS["index_put"], (input, values), (places, accumulate))


@method("__setitem__")
def setitem(self: Tensor, index: Any, value: Any) -> None:
    """Write into the part of a tensor that an index expression selects."""
    view, left = read_index(self, index, writing=True)
    source = as_value(self, value)
    if not left:
        _write_view(view, source)
        return
    places = places_of(view, left)
    shape = source._data.shape
    lead = next((i for i, n in enumerate(shape) if n != 1), len(shape))
    if lead:
        source = source.view(shape[lead:])
    put_at(view, places, source, False)


def as_value(self: Tensor, value: Any) -> Tensor:
    """Return what is to be written as a tensor; numbers take this tensor's dtype."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, bool | int | float | complex | np.generic):
        number = value.item() if isinstance(value, np.generic) else value
        xp = backend_of(self._data).xp
        return wrap(
            mode.run(xp.full, (), in_range(number, self.dtype), self._data.dtype)
        )
    raise TypeError(
        f"can't assign a {_type_name(value)} to a {legacy_type_name(self.dtype)}"
    )


def _type_name(value: Any) -> str:
    kind = type(value)
    name, home = kind.__name__, kind.__module__
    return name if home == "builtins" else f"{home}.{name}"


def _write_view(view: Tensor, source: Tensor) -> None:
    """Copy into a view; leading dimensions of size 1 too many are dropped."""
    shape, wanted = source._data.shape, view._data.shape
    if shape == wanted:
        copy_(view, source)
    elif not shape:
        fill_(view, source)
    else:
        first = next((i for i, n in enumerate(shape) if n != 1), len(shape))
        if first:
            source = source.view(shape[first:])
        copy_(view, expanded(source, wanted))
