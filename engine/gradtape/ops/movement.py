"""Views of a whole tensor in another shape or order: no element is left out."""

from __future__ import annotations

from typing import Any

from .._apply import broadcast_error
from .._define import Array, method, op, public
from .._dtypes import dtype as DType
from .._errors import legacy_type_name
from .._size import Size
from .._strided import geometry_of
from .._tensor import Tensor
from . import _geometry as at
from ._arguments import check_tensor, is_integer, spread, wrap_dim
from ._view import composed, view_op
from ._warn import warn_once
from .formats import contiguous_format

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


@op(
    {"self": lambda F, grad, self_shape: F.reshape(grad, self_shape)},
    method=False,
    function=False,
)
def _unsafe_view(xp: Any, self: Array, size: Sizes) -> Any:
    """Take another shape; the input is a copy that nobody else sees."""
    return self.reshape(size)


@method("view")
def _view(self: Tensor, *size: Any, dtype: DType | None = None) -> Tensor:
    """Look at the same memory in another shape, or as another dtype.

    One size may be -1: what is left. Raises RuntimeError where the strides do not
    allow the shape; ``reshape`` copies then.

    >>> import gradtape as torch
    >>> torch.arange(4).view(2, -1)
    tensor([[0, 1],
            [2, 3]])
    """
    if dtype is not None or (len(size) == 1 and isinstance(size[0], DType)):
        from .reinterpret import view_dtype

        return view_dtype(self, dtype or size[0])
    if not size and not self.numel() == 1:
        raise TypeError(_NO_SIZE)
    return view(self, spread(size, "view"))


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
    return view(self, other._data.shape)


@method()
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """Return the elements in the shape of another tensor."""
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
    return input.contiguous().view(-1)


@method(function=True)
def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    """Divide one dimension into several, one of which may be -1."""
    shape = check_tensor(input, "unflatten")._data.shape
    d = wrap_dim(dim, len(shape))
    parts = spread((sizes,), "unflatten", "sizes")
    if not parts:
        raise RuntimeError("unflatten: sizes must be non-empty")
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


# ---- order ----


@view_op(
    at.transposed,
    {"self": lambda F, grad, dim0, dim1: F.transpose(grad, dim0, dim1)},
)
def transpose(xp: Any, self: Array, dim0: int, dim1: int) -> Any:
    """Swap two dimensions.

    >>> import gradtape as torch
    >>> torch.zeros(2, 3, 4).transpose(0, 2).shape
    torch.Size([4, 3, 2])
    """
    return self.swapaxes(dim0, dim1) if self.ndim else self


for _name in ("swapaxes", "swapdims"):
    method(_name, function=True)(transpose)


@view_op(at.matrix_transposed, {"self": lambda F, grad: F.t(grad)})
def t(xp: Any, self: Array) -> Any:
    """Swap the two dimensions of a matrix.

    Raises RuntimeError for more than two dimensions.
    """
    return self.T


@view_op(
    at.permuted,
    {"self": lambda F, grad, dims: F.permute(grad, _inverse(dims))},
    method=False,
    function=False,
)
def permute(xp: Any, self: Array, dims: Sizes) -> Any:
    """Put the dimensions in another order."""
    return self.transpose(dims)


def _inverse(dims: Sizes) -> Sizes:
    places = {d % len(dims): i for i, d in enumerate(dims)}
    return tuple(places[d] for d in range(len(dims)))


@method("permute", function=True)
def _permute(input: Tensor, *dims: Any, **named: Any) -> Tensor:
    """Put the dimensions in another order.

    Raises RuntimeError unless every dimension is named once.

    >>> import gradtape as torch
    >>> torch.zeros(2, 3, 4).permute(2, 0, 1).shape
    torch.Size([4, 2, 3])
    """
    check_tensor(input, "permute")
    return permute(input, spread(dims, "permute", "dims", named))


@method("movedim", "moveaxis", function=True)
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Move dimensions to other places; the rest keep their order."""
    ndim = input.dim()
    sources = (source,) if isinstance(source, int) else tuple(source)
    targets = (destination,) if isinstance(destination, int) else tuple(destination)
    if len(sources) != len(targets):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(sources)} "
            f"dims) should contain the same number of dims as destination "
            f"({list(targets)} dims)"
        )
    moved = _distinct(sources, ndim, "source", source)
    places = _distinct(targets, ndim, "destination", destination)
    if not ndim:
        return _alias(input)
    rest = iter(d for d in range(ndim) if d not in moved)
    order = dict(zip(places, moved, strict=True))
    return permute(
        input, tuple(order[d] if d in order else next(rest) for d in range(ndim))
    )


def _distinct(dims: Sizes, ndim: int, name: str, given: Any) -> Sizes:
    wrapped = tuple(wrap_dim(d, ndim) for d in dims)
    if len(set(wrapped)) != len(wrapped):
        raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(dims)})")
    return wrapped


@view_op(
    at.same, {"self": lambda F, grad: grad}, name="alias", method=False, function=False
)
def _alias(xp: Any, self: Array) -> Any:
    """Look at the same tensor through a new one."""
    return self


# ---- dimensions of size 1 ----


@view_op(at.unsqueezed, {"self": lambda F, grad, dim: F._squeeze_dim(grad, dim)})
def unsqueeze(xp: Any, self: Array, dim: int) -> Any:
    """Insert a dimension of size 1.

    >>> import gradtape as torch
    >>> torch.zeros(3).unsqueeze(-1).shape
    torch.Size([3, 1])
    """
    d = wrap_dim(dim, self.ndim + 1)
    return self.reshape((*self.shape[:d], 1, *self.shape[d:]))


def _unsqueeze_to(F: Any, grad: Any, shape: Sizes) -> Any:
    return F.view(grad, shape)


@view_op(
    at.squeezed,
    {"self": lambda F, grad, self_shape: _unsqueeze_to(F, grad, self_shape)},
    name="_squeeze_all",
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
def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Drop dimensions of size 1: all of them, or those named.

    >>> import gradtape as torch
    >>> torch.zeros(1, 3, 1).squeeze(0).shape
    torch.Size([3, 1])
    """
    check_tensor(input, "squeeze")
    if dim is None:
        return _squeeze_all(input)
    if isinstance(dim, tuple | list):
        return _squeeze_dims(input, tuple(dim))
    return _squeeze_dim(input, dim)


# ---- repeated without copying ----


@view_op(
    at.expanded,
    {"self": lambda F, grad, self_shape: grad},
    method=False,
    function=False,
)
def expand(xp: Any, self: Array, size: Sizes, implicit: bool = False) -> Any:
    """Repeat dimensions of size 1 without copying; -1 keeps a size."""
    if -1 in size:
        lead = len(size) - self.ndim
        size = tuple(self.shape[d - lead] if n == -1 else n for d, n in enumerate(size))
    return self if self.shape == size else xp.broadcast_to(self, size)


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
            f"expand({legacy_type_name(self.dtype)}{{{list(self._data.shape)}}}, "
            f"size={list(size)}): the number of sizes provided ({len(size)}) must be "
            "greater or equal to the number of dimensions in the tensor "
            f"({self.dim()})"
        )
    return expand(self, size)


@method()
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """Repeat dimensions of size 1 so that the shape is that of ``other``."""
    return expanded(self, other._data.shape)


@method(function=True)
def broadcast_to(input: Tensor, size: Any) -> Tensor:
    """Repeat dimensions of size 1 so that the shape is ``size``."""
    return expanded(input, spread((size,), "broadcast_to"))


@public
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Expand tensors to the shape they broadcast to."""
    given = (
        tensors[0]
        if len(tensors) == 1 and not isinstance(tensors[0], Tensor)
        else tensors
    )
    shape: tuple[int, ...] = ()
    for tensor in given:
        try:
            shape = tuple(broadcast_shapes(shape, tensor._data.shape))
        except RuntimeError:
            raise broadcast_error(shape, tensor._data.shape) from None
    return tuple(expand(t, shape) for t in given)


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
    kept = [d + lead for d, n in enumerate(wanted) if n == 1 != mine[d + lead]]
    dims = [*range(lead), *kept]
    summed = self.sum(dims, True) if dims else self
    return view(summed, wanted) if lead else summed


# ---- attributes ----


def _reversed(self: Tensor) -> Tensor:
    if self.dim() == 0:
        warn_once(
            "Tensor.T is deprecated on 0-D tensors. This function is the identity in "
            "these cases."
        )
    elif self.dim() != 2:
        warn_once(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their "
            "shape is deprecated and it will throw an error in a future release. "
            "Consider `x.mT` to transpose batches of matrices or "
            "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions "
            "of a tensor."
        )
    return permute(self, tuple(range(self.dim() - 1, -1, -1)))


def _matrices_transposed(self: Tensor) -> Tensor:
    if self.dim() == 0:
        warn_once(
            "Tensor.mT is deprecated on 0-D tensors. This function is the identity in "
            "these cases."
        )
        return self
    if self.dim() < 2:
        raise RuntimeError(
            "tensor.mT is only supported on matrices or batches of matrices. Got "
            f"{self.dim()}-D tensor."
        )
    return transpose(self, -2, -1)


Tensor.T = property(_reversed, doc="The tensor with its dimensions reversed.")
Tensor.mT = property(_matrices_transposed, doc="Matrices, each transposed.")


@method(function=True)
def adjoint(input: Tensor) -> Tensor:
    """Return matrices, each transposed and conjugated."""
    if input.dim() < 2:
        raise RuntimeError(
            "tensor.adjoint() is only supported on matrices or batches of matrices. Got "
            f"{input.dim()}-D tensor."
        )
    turned = transpose(input, -2, -1)
    return turned.conj() if input.dtype.is_complex else turned


def _hermitian(self: Tensor) -> Tensor:
    if self.dim() != 2:
        hint = " For batches of matrices, consider using tensor.mH" * (self.dim() > 2)
        raise RuntimeError(
            "tensor.H is only supported on matrices (2-D tensors). Got "
            f"{self.dim()}-D tensor.{hint}"
        )
    return adjoint(self)


Tensor.H = property(_hermitian, doc="The matrix, transposed and conjugated.")
Tensor.mH = property(adjoint, doc="Matrices, each transposed and conjugated.")
