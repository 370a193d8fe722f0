"""New tensors of a size, or after the model of another: zeros, full, empty, like.

All take PyTorch's keywords: ``out``, ``dtype``, ``device``, ``requires_grad``;
``pin_memory`` is accepted for its sake and means nothing here, nor does ``layout``
except to zeros and empty.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._backend import backend_of
from ..._common.type_name import type_name
from ..._dispatch.declare import Array, method, public
from ..._dispatch.strided_views import Geometry
from ..._dtypes import (
    DTYPE_OF,
    dtype_of_number,
    parse_dtype,
)
from ..._modes.grad_mode import mode
from ..._overrides.torch_function import of_class
from ..._sparse.array import SparseArray, no_elements, refused
from ..._tensor.tensor import Tensor
from .._support.arguments import check_tensor, float_dtype, sizes, spread
from .._support.memory_formats import array_in, checked_format, new_in_format
from .._support.new_tensor import check_out, deliver, made, module_on
from .._support.operands import hidden_op, number
from .._support.scalar_range import as_element, in_range
from ..memory.memory_format import check_layout, sparse_coo
from ..tensor.determinism import unwritten

Sizes = tuple[int, ...]


def checked_size(given: tuple[Any, ...], function: str, named: Any = None) -> Sizes:
    """Return the size arguments of a creation function; refuse negative ones."""
    if not given and named is None:
        raise TypeError(f'{function}() missing 1 required positional arguments: "size"')
    size = spread(given, function) if named is None else sizes(named, function)
    for length in size:
        if length < 0:
            raise RuntimeError(negative_size(size, length, function))
    if math.prod(max(n, 1) for n in size[1:]) >= 2**63:
        raise RuntimeError("Stride calculation overflowed")
    if math.prod(size) >= _TOO_MANY:
        raise RuntimeError(f"{_OVERFLOW} with sizes={list(size)}")
    return size


_OVERFLOW = "Storage size calculation overflowed"
_TOO_MANY = 2**59  # elements of 16 bytes are more than 64 bits count


def negative_size(size: Sizes, length: int, function: str) -> str:
    """Write what PyTorch says of a negative size."""
    if function == "zeros":
        return "zeros: Dimension size must be non-negative."
    return f"Trying to create tensor with negative dimension {length}: {list(size)}"


@public
def zeros(
    *given: Any,
    size: Any = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Return a tensor of zeros.

    >>> import gradtape as torch
    >>> torch.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
    shape = checked_size(given, "zeros", size)
    check_out(out, dtype, layout, device)
    kind = _kind(dtype, out, "zeros")
    if layout is sparse_coo:
        return made(no_elements(shape, kind), requires_grad)
    if out is not None and out.is_sparse:
        out._data.rearranged(no_elements(shape, kind))
        return out.requires_grad_(requires_grad)
    return deliver(
        module_on(device).zeros(shape, kind), out, requires_grad, name="zeros"
    )


@public
def ones(
    *given: Any,
    size: Any = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Return a tensor of ones."""
    shape = checked_size(given, "ones", size)
    check_out(out, dtype, layout, device)
    _check_dense(layout)
    kind = _kind(dtype, out, "ones")
    return deliver(module_on(device).ones(shape, kind), out, requires_grad, name="ones")


@public
def empty(
    *given: Any,
    size: Any = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Return a tensor whose values are whatever its memory held.

    Raises RuntimeError for a memory format that is for tensors of another rank.
    """
    shape = checked_size(given, "empty", size)
    check_out(out, dtype, layout, device)
    kind = _kind(dtype, out, "empty")
    if layout is sparse_coo:
        return made(no_elements(shape, kind), requires_grad)
    order = checked_format(memory_format, "empty")
    if out is not None and out._data.shape == shape:
        return deliver(out._data, out, requires_grad)  # its values stay
    found = unwritten(new_in_format(module_on(device), shape, kind, order))
    return deliver(found, out, requires_grad)


def _check_dense(layout: Any) -> None:
    if layout is sparse_coo:
        raise RuntimeError("full(...) is not implemented for sparse layout")


def _kind(dtype: Any, out: Tensor | None, function: str) -> Any:
    if dtype is None and out is not None:
        return out._data.dtype
    return float_dtype(dtype, function).numpy


@public
def empty_strided(
    size: Any,
    stride: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Return a tensor without values that lies in memory with the given strides."""
    shape, steps = sizes(size, "empty_strided"), tuple(stride)
    if min(shape, default=0) < 0:
        checked_size((shape,), "empty")  # which refuses it
    if len(shape) != len(steps):
        raise RuntimeError(
            f"dimensionality of sizes ({len(shape)}) must match dimensionality of "
            f"strides ({len(steps)})"
        )
    where = Geometry(shape, steps, 0)
    if any(step < 0 for step in steps) or where.end >= _TOO_MANY:
        raise RuntimeError(
            f"{_OVERFLOW} with sizes={list(shape)} and strides={list(steps)}"
        )
    flat = module_on(device).empty(where.end, float_dtype(dtype, "empty_strided").numpy)
    found = made(unwritten(flat), requires_grad)
    _ = found._storage  # of all the memory, whatever part of it is looked at
    found._data = backend_of(flat).strided(flat, *where)
    return found


@public
def full(
    size: Any,
    fill_value: Any,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Return a tensor filled with one number, of the number's kind.

    >>> import gradtape as torch
    >>> torch.full((2,), 7)
    tensor([7, 7])
    """
    shape = checked_size((sizes(size, "full"),), "full")
    check_out(out, dtype, layout, device)
    _check_dense(layout)
    value = number(fill_value)
    if not isinstance(value, int | float | complex):
        raise TypeError(
            "full(): argument 'fill_value' (position 2) must be Number, not "
            f"{type_name(value)}"
        )
    if dtype is not None:
        kind = parse_dtype(dtype, "full")
    elif isinstance(fill_value, Tensor):
        kind = fill_value.dtype
    else:
        kind = DTYPE_OF[out._data.dtype] if out is not None else dtype_of_number(value)
    xp = module_on(device)
    array = mode.run(xp.full, shape, in_range(value, kind), kind.numpy)
    return deliver(array, out, requires_grad, name="full")


@public
def scalar_tensor(
    s: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Return a 0-d tensor with this value, of the default dtype."""
    kind = float_dtype(dtype, "scalar_tensor")
    array = mode.run(module_on(device).full, (), as_element(s, kind), kind.numpy)
    return made(array, requires_grad)


@public
def eye(
    n: int,
    m: int | None = None,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Return a matrix of zeros with ones on its diagonal."""
    check_out(out, dtype, layout, device)
    columns = n if m is None else m
    for name, length in (("n", n), ("m", columns)):
        if length < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {length}")
    array = module_on(device).eye(n, columns, dtype=_kind(dtype, out, "eye"))
    return deliver(array, out, requires_grad, name="eye")


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
