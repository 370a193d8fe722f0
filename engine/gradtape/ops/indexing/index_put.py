"""Writing to indexed places: ``x[…] = y`` and index_put."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._backend import backend_of
from ..._common.messages import legacy_type_name
from ..._common.type_name import type_name
from ..._dispatch.apply import apply
from ..._dispatch.declare import OPS, Array, method
from ..._dispatch.view_history import check_inplace
from ..._modes.grad_mode import mode
from ..._tensor.overlap import check_overlap, check_partial_overlap, check_places
from ..._tensor.tensor import Tensor, wrap
from .._support.arguments import check_tensor
from .._support.index_options import frees_options
from .._support.inplace_write import written
from .._support.new_tensor import dense_copy
from .._support.operands import hidden_op
from .._support.scalar_range import as_element, in_range
from ..memory.copy_fill import copy_, fill_
from ..tensor.native_functions import ONLY_ATEN
from ..views.reshape import expanded
from .getitem import Indices, broadcast_refused, places_of, read_index, selected

Sizes = tuple[int, ...]


@hidden_op(
    {
        "self": lambda F, grad, places, accumulate: (
            grad if accumulate else F._index_put_number(grad, places)
        ),
        "values": lambda F, grad, places: F.index(grad, places),
    },
    name="index_put",
)
def _index_put(
    xp: Any, self: Array, places: Any, values: Array, accumulate: bool = False
) -> Any:
    """Copy the argument, with ``values`` written at, or added to, the index arrays."""
    result = dense_copy(xp, self)
    store_at(xp, result, places, values, accumulate)
    return result


@hidden_op(
    {"self": lambda F, grad, places: F._index_put_number(grad, places)},
    name="index_put",
    key="_index_put_number",
)
def _index_put_number(xp: Any, self: Array, places: Any) -> Any:
    """Copy the argument, with zeros at the index arrays."""
    result = self.copy()
    result[places] = 0
    return result


frees_options("index_put", "_index_put_number")


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


def _fills_a_mask(indices: Any, values: Tensor) -> bool:
    """Tell whether one value goes where a mask is: its dtype is free then."""
    given = [each for each in indices if each is not None]
    one = len(given) == 1 and values._data.size == 1
    return one and given[0]._data.dtype.kind == "b"


def _check_values(
    view: Tensor, places: tuple[Any, ...], values: Tensor, any_dtype: bool = False
) -> None:
    if any(isinstance(place, Tensor) for place in places):
        return  # a class knows what they are
    wanted, given = _indexed_shape(view, places), values._data.shape
    fits = len(given) <= len(wanted) and all(
        n in (1, m) for n, m in zip(given[::-1], wanted[::-1], strict=False)
    )
    if not fits:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(given)} cannot be broadcast "
            f"to indexing result of shape {list(wanted)}"
        )
    if values.dtype is not view.dtype and not any_dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{view.dtype.cpp_name} for the destination and {values.dtype.cpp_name} "
            "for the source."
        )


def _check_recorded(target: Tensor, values: Tensor) -> None:
    needs = target.requires_grad or values.requires_grad
    check_inplace(target, mode.grad and needs)


def _check_written(target: Tensor, values: Tensor) -> None:
    """Refuse what may not be written at all; what else is wrong comes after that."""
    _check_recorded(target, values)
    check_partial_overlap(OPS["index_put"], target, (target, values))


def put_at(
    target: Tensor,
    left: Indices,
    values: Tensor,
    accumulate: bool,
    any_dtype: bool = False,
) -> Tensor:
    """Write values at index tensors of a tensor, in place."""
    try:
        places = places_of(target, left)
        _check_values(target, places, values, any_dtype)
        check_places(target, places)
    except (IndexError, RuntimeError):
        _check_written(target, values)
        raise
    xp = backend_of(target._data).xp
    array = values._data
    if values.dtype is not target.dtype:
        array = in_range(values.item(), target.dtype)

    def store(data: Any) -> None:
        store_at(xp, data, places, array, accumulate)

    return written(
        "index_put_", "index_put", (target, values), (places, accumulate), store
    )


def _read_indices(self: Tensor, indices: Any, gaps: bool) -> Indices:
    """Return an index per dimension; with ``gaps``, None may be among those given."""
    for position, item in enumerate(indices):
        if not isinstance(item, Tensor) and not (gaps and item is None):
            raise TypeError(
                f"expected Tensor as element {position} in argument 0, but got "
                f"{type(item).__name__}"
            )
    left: Indices = []
    for item in indices:
        left.append(item)
        if item is not None and item._data.dtype.kind == "b":
            left += [None] * (item.dim() - 1)
    if len(left) > self.dim():
        raise IndexError(
            f"too many indices for tensor of dimension {self.dim()} (got {len(left)})"
        )
    return left


@method(function=True)
def index_put_(
    self: Tensor, indices: Any, values: Tensor, accumulate: bool = False
) -> Tensor:
    """Write, or add, values at the places that index tensors name.

    >>> import gradtape as torch
    >>> torch.zeros(3).index_put_((torch.tensor([1, 1]),), torch.ones(2), True)
    tensor([0., 2., 0.])
    """
    _check_put("index_put_", indices, values)
    return _put(self, indices, values, accumulate, gaps=False)


def _check_put(name: str, indices: Any, values: Any) -> None:
    if not isinstance(indices, list | tuple):
        raise TypeError(
            f"{name}(): argument 'indices' (position 1) must be tuple of Tensors, not "
            f"{type_name(indices)}"
        )
    check_tensor(values, name, "values", 2)


def _put(
    self: Tensor,
    indices: Any,
    values: Tensor,
    accumulate: bool = False,
    gaps: bool = True,
) -> Tensor:
    """Write at index tensors; with ``gaps``, None stands for a whole dimension."""
    try:
        left = _read_indices(self, indices, gaps)
    except IndexError:
        _check_recorded(self, values)
        raise
    fills = not accumulate and _fills_a_mask(indices, values)
    return put_at(self, left, values, accumulate, fills)


@method(function=True)
def index_put(
    input: Tensor,
    indices: Any,
    values: Tensor,
    accumulate: bool = False,
) -> Tensor:
    """Return a copy with values written at, or added to, the places named."""
    _check_put("index_put", indices, values)
    return _put_copy(input, indices, values, accumulate, gaps=False)


def _put_copy(
    input: Tensor,
    indices: Any,
    values: Tensor,
    accumulate: bool = False,
    gaps: bool = True,
) -> Tensor:
    places = places_of(input, _read_indices(input, indices, gaps))
    fills = not accumulate and _fills_a_mask(indices, values)
    _check_values(input, places, values, fills)
    return apply(OPS["index_put"], (input, values), (places, accumulate))


@method()
def __delitem__(self: Tensor, index: Any) -> None:  # noqa: N807 - a method of Tensor
    """Refuse to delete: a tensor keeps its shape."""
    raise TypeError("Tensor does not support deleting items")


@method("__setitem__")
def setitem(self: Tensor, index: Any, value: Any) -> None:
    """Write into the part of a tensor that an index expression selects."""
    if self.is_sparse:
        raise TypeError("Cannot assign to a sparse tensor")
    source = as_value(self, value)
    if index is False:
        return  # nothing is selected, and nothing looked at
    view, left = read_index(self, None if index is True else index, writing=True)
    if not left:
        _write_view(view, source)
        return
    shape = source._data.shape
    lead = next((i for i, n in enumerate(shape) if n != 1), len(shape))
    if lead:
        source = source.view(shape[lead:])
    put_at(view, left, source, False, _fills_a_mask(left, source))


def as_value(self: Tensor, value: Any) -> Tensor:
    """Return what is to be written as a tensor; numbers take this tensor's dtype."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, bool | int | float | complex | np.generic):
        number = value.item() if isinstance(value, np.generic) else value
        xp = backend_of(self._data).xp
        return wrap(
            mode.run(xp.full, (), as_element(number, self.dtype), self._data.dtype)
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
        check_inplace(view, mode.grad and (view.requires_grad or source.requires_grad))
        check_overlap(view)  # stricter here than fill_() itself
        fill_(view, source)
    else:
        first = next((i for i, n in enumerate(shape) if n != 1), len(shape))
        copy_(view, expanded(source.view(shape[first:]), wanted))


def _index(self: Tensor, indices: Any) -> Tensor:
    """Return what index tensors select; None stands for a whole dimension."""
    return selected(self, _read_indices(self, indices, gaps=True))


ONLY_ATEN.update(index=_index, index_put=_put_copy, index_put_=_put)
