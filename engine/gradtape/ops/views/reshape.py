"""Other shapes of the same elements: view, reshape, expand, squeeze and the like."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._common.messages import type_in_graph
from ..._dispatch.declare import Array, method, public
from ..._dispatch.operands import broadcast_error
from ..._dispatch.strided_views import geometry_of
from ..._dispatch.sum_to_shape import sum_to
from ..._dtypes import dtype as DType
from ..._sparse.array import SparseArray
from ..._tensor.size import Size
from ..._tensor.tensor import Tensor
from .._support import view_geometry as at
from .._support.arguments import (
    as_integer,
    check_tensor,
    is_integer,
    spread,
    tensor_list,
    wrap_dim,
)
from .._support.arguments import sizes as read_sizes
from .._support.declare_view import composed, view_op
from .._support.operands import hidden_op
from .._support.reduction import numpy_names
from ..memory.memory_format import contiguous_format

Sizes = tuple[int, ...]


# ---- shape ----


@view_op(
    at.viewed,
    {"self": lambda F, grad, self_shape: F.reshape(grad, self_shape)},
    method=False,
    function=False,
)
def view(xp: Any, self: Array, size: Sizes) -> Any:
    """Look at the same memory in another shape."""
    return self.reshape(size)


@view_op(
    at.placed,
    {"self": lambda F, grad, self_shape: F.reshape(grad, self_shape)},
    method=False,
    function=False,
)
def _reshape_alias(xp: Any, self: Array, size: Sizes, stride: Sizes) -> Any:
    """Look at the same memory in another shape whose strides are known."""
    return self.reshape(size)


@hidden_op({"self": lambda F, grad, self_shape: F.reshape(grad, self_shape)})
def _unsafe_view(xp: Any, self: Array, size: Sizes) -> Any:
    """Take another shape; the input is a copy that nobody else sees."""
    return self.reshape(size)


@method("view")
def _view(
    self: Tensor, *given: Any, size: Any = None, dtype: DType | None = None
) -> Tensor:
    """Look at the same memory in another shape, or as another dtype.

    One size may be -1: what is left. Raises RuntimeError where the strides do not
    allow the shape; ``reshape`` copies then.

    >>> import gradtape as torch
    >>> torch.arange(4).view(2, -1)
    tensor([[0, 1],
            [2, 3]])
    """
    if dtype is not None or (len(given) == 1 and isinstance(given[0], DType)):
        from .reinterpret import view_dtype

        return view_dtype(self, dtype or given[0])
    if size is not None and not given:
        given = (size,)
    if not given:
        raise TypeError(_NO_SIZE)
    return view(self, spread(given, "view"))


_NO_SIZE = (
    "view() received an invalid combination of arguments - got (), but expected one "
    "of:\n * (torch.dtype dtype)\n * (tuple of ints size)\n"
)


@method(function=True)
@composed(lambda xp, self, shape: self.reshape(shape))
def reshape(input: Tensor, *shape: Any, **named: Any) -> Tensor:
    """Return the elements in another shape: a view where strides allow, or a copy.

    Raises RuntimeError where the shape has another number of elements.

    >>> import gradtape as torch
    >>> torch.arange(4).reshape(2, 2).t().reshape(4)
    tensor([0, 2, 1, 3])
    """
    check_tensor(input, "reshape")
    wanted = spread(shape, "reshape", "shape", named)
    size = at.inferred_size(wanted, input.numel())
    if input._data.flags.c_contiguous:
        return view(input, size)
    steps = at.view_strides(geometry_of(input), size)
    if steps is not None:
        return _reshape_alias(input, size, steps)
    return _unsafe_view(input.clone(memory_format=contiguous_format), size)


@method()
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """Look at the tensor in the shape of another."""
    check_tensor(other, "view_as", "other")
    return view(self, other._data.shape)


@method()
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """Return the elements in the shape of another tensor."""
    check_tensor(other, "reshape_as", "other")
    return reshape(self, other._data.shape)


@method(function=True)
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Merge a range of dimensions into one.

    Raises RuntimeError where ``start_dim`` comes after ``end_dim``.

    >>> import gradtape as torch
    >>> torch.zeros(2, 3, 4).flatten(1).shape
    torch.Size([2, 12])
    """
    shape = check_tensor(input, "flatten")._data.shape
    first, last = wrap_dim(start_dim, len(shape)), wrap_dim(end_dim, len(shape))
    if first > last:
        raise RuntimeError(
            "flatten() has invalid args: start_dim cannot come after end_dim"
        )
    if not shape:
        return reshape(input, (1,))
    if first == last:
        return input
    merged = 1
    for length in shape[first : last + 1]:
        merged *= length
    return reshape(input, (*shape[:first], merged, *shape[last + 1 :]))


@method(function=True)
def ravel(input: Tensor) -> Tensor:
    """Return the elements in one dimension."""
    check_tensor(input, "ravel")
    return input.contiguous().view(-1)


_NO_DIMENSION = (
    "unflatten got an unexpected error:\n"
    "Dimension specified as {} but tensor has no dimensions"
)


@method(function=True)
@numpy_names
def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    """Divide one dimension into several, one of which may be -1."""
    shape = check_tensor(input, "unflatten")._data.shape
    dim = as_integer(dim, "unflatten", "dim", 1)
    parts = read_sizes(sizes, "unflatten", "sizes", 2)
    if not parts:
        raise RuntimeError("unflatten: sizes must be non-empty")
    d = wrap_dim(dim, len(shape))
    if not shape:
        raise RuntimeError(_NO_DIMENSION.format(d))
    try:
        parts = at.inferred_size(parts, shape[d])
    except RuntimeError as error:
        if "invalid for input" not in str(error):
            raise
        raise RuntimeError(
            f"unflatten: Provided sizes {list(parts)} don't multiply up to the size of "
            f"dim {d} ({shape[d]}) in the input tensor"
        ) from None
    return view(input, (*shape[:d], *parts, *shape[d + 1 :]))


# ---- dimensions of size 1 ----


@view_op(at.unsqueezed, {"self": lambda F, grad, dim: F._squeeze_dim(grad, dim)})
def unsqueeze(xp: Any, self: Array, dim: int) -> Any:
    """Insert a dimension of size 1.

    >>> import gradtape as torch
    >>> torch.zeros(3).unsqueeze(-1).shape
    torch.Size([3, 1])
    """
    d = wrap_dim(dim, self.ndim + 1)
    if type(self) is SparseArray:
        return self.expanded(d)
    return self.reshape((*self.shape[:d], 1, *self.shape[d:]))


def _unsqueeze_to(F: Any, grad: Any, shape: Sizes) -> Any:
    return F.view(grad, shape)


@view_op(
    at.squeezed,
    {"self": lambda F, grad, self_shape: _unsqueeze_to(F, grad, self_shape)},
    name="squeeze",
    key="_squeeze_all",
    node="SqueezeBackward0",
    method=False,
    function=False,
)
def _squeeze_all(xp: Any, self: Array) -> Any:
    """Drop all dimensions of size 1."""
    return self.squeeze()


@view_op(
    at.squeezed_dim,
    {"self": lambda F, grad, self_shape, dim: _unsqueeze_to(F, grad, self_shape)},
    name="squeeze",
    key="_squeeze_dim",
    node="SqueezeBackward1",
    method=False,
    function=False,
)
def _squeeze_dim(xp: Any, self: Array, dim: int) -> Any:
    """Drop one dimension if its size is 1."""
    d = wrap_dim(dim, self.ndim)
    return self.squeeze(d) if self.ndim and self.shape[d] == 1 else self


@view_op(
    at.squeezed_dims,
    {"self": lambda F, grad, self_shape, dim: _unsqueeze_to(F, grad, self_shape)},
    name="squeeze",
    key="_squeeze_dims",
    node="SqueezeBackward2",
    method=False,
    function=False,
)
def _squeeze_dims(xp: Any, self: Array, dim: Sizes) -> Any:
    """Drop those of several dimensions whose size is 1."""
    ndim = self.ndim
    dropped = {d % ndim for d in dim if self.shape[d] == 1} if ndim else set()
    return self.squeeze(tuple(dropped))


@method(function=True)
@numpy_names
def squeeze(input: Tensor, dim: Any = None, *more: Any) -> Tensor:
    """Drop dimensions of size 1: all of them, or those named, one by one or in a list.

    >>> import gradtape as torch
    >>> torch.zeros(1, 3, 1).squeeze(0).shape
    torch.Size([3, 1])
    """
    check_tensor(input, "squeeze")
    dim = (dim, *more) if more else dim
    if dim is None:
        return _squeeze_all(input)
    if isinstance(dim, tuple | list):
        return _squeeze_dims(input, tuple(dim))
    return _squeeze_dim(input, dim)


@view_op(
    at.expanded,
    {"self": lambda F, grad, self_shape: sum_to(F, grad, tuple(self_shape))},
    method=False,
    function=False,
)
def expand(xp: Any, self: Array, size: Sizes, implicit: bool = False) -> Any:
    """Repeat dimensions of size 1 without copying; -1 keeps a size."""
    if -1 in size:
        lead = len(size) - self.ndim
        size = tuple(self.shape[d - lead] if n == -1 else n for d, n in enumerate(size))
    if self.shape == size:
        return self
    if xp is np and not self.ndim and self.dtype.char in "fd":
        return _repeated(self, size)
    return xp.broadcast_to(self, size)


def _repeated(number: Any, size: Sizes) -> Any:
    """Do what broadcast_to does for one number in a tenth of the time.

    So every gradient of a total begins.
    """
    one = np.asarray(number)
    found = np.ndarray(size, one.dtype, one, strides=(0,) * len(size))
    found.flags.writeable = False
    return found


@method("expand")
def _expand(self: Tensor, *size: Any, implicit: bool = False, **named: Any) -> Tensor:
    """Repeat dimensions of size 1 without copying; -1 keeps a size.

    Raises RuntimeError where a size other than 1 would change.

    >>> import gradtape as torch
    >>> torch.zeros(3, 1).expand(-1, 4).stride()
    (1, 0)
    """
    return expanded(self, spread(size, "expand", "size", named))


def expanded(self: Tensor, size: Sizes) -> Tensor:
    """Expand, and name the tensor in the error where sizes are missing."""
    if len(size) < self.dim():
        raise RuntimeError(
            f"expand({type_in_graph(self.dtype)}{{{list(self._data.shape)}}}, "
            f"size={list(size)}): the number of sizes provided ({len(size)}) must be "
            "greater or equal to the number of dimensions in the tensor "
            f"({self.dim()})"
        )
    return expand(self, size)


@method()
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """Repeat dimensions of size 1 so that the shape is that of ``other``."""
    check_tensor(other, "expand_as", "other")
    return expanded(self, other._data.shape)


@method(function=True)
def broadcast_to(input: Tensor, *given: Any, **named: Any) -> Tensor:
    """Repeat dimensions of size 1 so that the shape is ``size``.

    >>> import gradtape as torch
    >>> torch.zeros(3, 1).broadcast_to(2, 3, 4).shape
    torch.Size([2, 3, 4])
    """
    check_tensor(input, "broadcast_to")
    return expanded(input, spread(given, "broadcast_to", "size", named))


@public
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Expand tensors to the shape they broadcast to; one that has it stays itself."""
    given = (
        tensors[0]
        if len(tensors) == 1 and not isinstance(tensors[0], Tensor)
        else tensors
    )
    shape: tuple[int, ...] = ()
    for tensor in tensor_list(given, "broadcast_tensors"):
        try:
            shape = tuple(broadcast_shapes(shape, tensor._data.shape))
        except RuntimeError:
            raise broadcast_error(shape, tensor._data.shape) from None
    return tuple(t if t._data.shape == shape else expand(t, shape) for t in given)


@public
def broadcast_shapes(*shapes: Any) -> Any:
    """Return the shape that tensors of these shapes broadcast to.

    Raises RuntimeError where they do not broadcast.
    """
    sized = [(s,) if is_integer(s) else tuple(s) for s in shapes]
    found = [1] * max((len(s) for s in sized), default=0)
    for position, shape in enumerate(sized):
        for d in range(-1, -1 - len(shape), -1):
            if shape[d] < 0:
                raise RuntimeError(
                    f"Trying to create tensor with negative dimension ({shape[d]}): "
                    f"({shape[d]})"
                )
            if shape[d] in (1, found[d]):
                continue
            if found[d] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {shape[d]} at {d}! "
                    f"Mismatching argument at index {position} had {shape}; but "
                    "expected shape should be broadcastable to "
                    f"{[found[i] for i in range(-1, -1 - len(found), -1)][::-1]}"
                )
            found[d] = shape[d]
    return Size(found)


@method()
def sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """Add up over dimensions so that the shape is ``size``: broadcasting undone.

    Raises RuntimeError where ``size`` does not broadcast to the tensor's shape.
    """
    wanted = spread(size, "sum_to_size")
    mine = self._data.shape
    lead = len(mine) - len(wanted)
    if lead < 0 or any(
        n not in (1, m) for n, m in zip(wanted, mine[lead:], strict=True)
    ):
        raise RuntimeError(
            f"size {{{list(wanted)}}} is not expandable to size {{{list(mine)}}}."
        )
    if not wanted:
        return self.sum()
    kept = [d + lead for d, n in enumerate(wanted) if n == 1 != mine[d + lead]]
    dims = [*range(lead), *kept]
    summed = self.sum(dims, True) if dims else self
    return view(summed, wanted) if lead else summed
