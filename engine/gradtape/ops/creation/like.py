"""New tensors after the model of another: the ``*_like`` family and ``new_*``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._dispatch.declare import Array, method, public
from ..._dtypes import DTYPE_OF, parse_dtype
from ..._modes.grad_mode import mode
from ..._overrides.torch_function import of_class
from ..._sparse.array import SparseArray, refused
from ..._tensor.tensor import Tensor
from .._support.arguments import check_tensor
from .._support.memory_formats import array_in, checked_format
from .._support.new_tensor import made, module_on
from .._support.operands import hidden_op
from .._support.scalar_range import in_range
from ..memory.memory_format import check_layout, sparse_coo
from ..tensor.determinism import unwritten
from .full import checked_size, empty, empty_strided, full, ones, zeros

Sizes = tuple[int, ...]


# ---- of the shape of another tensor ----


def model_of(source: Tensor, layout: Any, order: Any) -> Any:
    """Return an array of a tensor's shape and dtype, in a layout unless it is None.

    Raises RuntimeError for a memory format of what is not strided.
    """
    if layout is order is None:
        return source._data
    check_layout(layout)
    wanted = source.layout if layout is None else layout
    if wanted is sparse_coo and order is not None:
        raise RuntimeError("memory format option is only supported by strided tensors")
    if wanted is source.layout:
        return source._data
    if wanted is sparse_coo:
        raise refused("empty_strided")
    return np.empty(source._data.shape, source._data.dtype)


def new_like(
    input: Any,
    function: str,
    dtype: Any,
    device: Any,
    layout: Any,
    fill: Any,
    order: Any = None,
) -> Any:
    """Return an array like a tensor's, filled with a value unless it is None.

    ``order`` is a memory format; None keeps the tensor's order.
    """
    source = check_tensor(input, function)
    if type(source) is not Tensor and hasattr(source, "refuse"):
        source.refuse(function)  # it still waits for its shape
    kind = None if dtype is None else parse_dtype(dtype, function)
    xp = module_on(source.device if device is None else device)
    model = model_of(source, layout, order)
    array = array_in(xp, model, checked_format(order, function, source), kind)
    if fill is not None:
        mode.run(array.fill, in_range(fill, DTYPE_OF[array.dtype]))
    return array


@hidden_op({}, name="zeros_like")
def _zeros_like(xp: Any, self: Array) -> Any:
    """Return zeros of the argument's shape and dtype."""
    return xp.zeros_like(self)


@hidden_op({}, name="ones_like")
def _ones_like(xp: Any, self: Array) -> Any:
    """Return ones of the argument's shape and dtype."""
    return xp.ones_like(self)


@hidden_op({}, name="_new_zeros")
def _new_zeros(xp: Any, self: Array, size: Sizes) -> Any:
    """Return zeros of the argument's dtype, of another shape."""
    return xp.zeros(tuple(size), self.dtype)


@public
def zeros_like(
    input: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Return zeros of the tensor's shape, dtype and device."""
    if layout is sparse_coo and layout is not input.layout:
        return zeros(
            input.shape,
            dtype=dtype or input.dtype,
            layout=layout,
            device=device or input.device,
            requires_grad=requires_grad,
        )
    found = new_like(input, "zeros_like", dtype, device, layout, 0, memory_format)
    return of_class(input, made(found, requires_grad))


@public
def ones_like(
    input: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Return ones of the tensor's shape, dtype and device."""
    found = new_like(input, "ones_like", dtype, device, layout, 1, memory_format)
    return of_class(input, made(found, requires_grad))


@public
def empty_like(
    input: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Return a tensor without values, of the tensor's shape, dtype and device."""
    found = new_like(input, "empty_like", dtype, device, layout, None, memory_format)
    result = made(unwritten(found), requires_grad)
    if mode.now.watch is not None:
        mode.now.watch.empty_like(input, result)
    return of_class(input, result)


@public
def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Return a tensor of the tensor's shape and dtype, filled with one number."""
    value = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    found = new_like(input, "full_like", dtype, device, layout, value, memory_format)
    return of_class(input, made(found, requires_grad))


# ---- methods: of the dtype of this tensor ----


@method()
def new_zeros(self: Tensor, *given: Any, size: Any = None, **named: Any) -> Tensor:
    """Return zeros of this tensor's dtype and device, of another size."""
    found = zeros(checked_size(given, "new_zeros", size), **_as_mine(self, named))
    return _following(self, found)


@method()
def new_ones(self: Tensor, *given: Any, size: Any = None, **named: Any) -> Tensor:
    """Return ones of this tensor's dtype and device, of another size."""
    found = ones(checked_size(given, "new_ones", size), **_as_mine(self, named))
    return _following(self, found)


@method()
def new_empty(self: Tensor, *given: Any, size: Any = None, **named: Any) -> Tensor:
    """Return a tensor without values, of this tensor's dtype and device."""
    return empty(checked_size(given, "new_empty", size), **_as_mine(self, named))


@method()
def new_full(self: Tensor, size: Any, fill_value: Any, **named: Any) -> Tensor:
    """Return a tensor of this tensor's dtype and device, filled with one number."""
    return _following(self, full(size, fill_value, **_as_mine(self, named)))


@method()
def new_empty_strided(self: Tensor, size: Any, stride: Any, **named: Any) -> Tensor:
    """Return a tensor without values, of this dtype, with the given strides."""
    return empty_strided(size, stride, **_as_mine(self, named))


def _following(source: Tensor, found: Tensor) -> Tensor:
    """Tell a vmap that a new tensor is one per example where its source is."""
    if mode.now.watch is not None:
        mode.now.watch.follow(source, found)
    return found


def _as_mine(self: Tensor, named: dict[str, Any]) -> dict[str, Any]:
    mine = {name: value for name, value in named.items() if value is not None}
    mine.setdefault("dtype", self.dtype)
    mine.setdefault("device", self.device)
    if type(self._data) is SparseArray:
        mine.setdefault("layout", sparse_coo)
    return mine
