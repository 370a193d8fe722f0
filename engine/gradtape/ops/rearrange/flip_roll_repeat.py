"""Copies with the elements in other places: repeat, flip, roll, kron and such."""

from __future__ import annotations

from typing import Any

from ..._dispatch.declare import Array, method, public
from ..._tensor.tensor import Tensor
from .._support.arguments import (
    as_integer,
    check_tensor,
    check_tensors,
    is_integer,
    spread,
    wrap_dim,
    wrap_dims,
)
from .._support.memory_formats import moved_into, suggested_by
from .._support.new_tensor import array_like, dense_copy, made, module_on
from .._support.operands import hidden_op
from .._support.out_argument import PLAIN, with_out
from .._support.reduction import numpy_names
from ..memory.memory_format import contiguous_format
from ..views.reshape import _unsafe_view as unsafe_view
from ..views.reshape import expand, reshape, unsqueeze

Sizes = tuple[int, ...]


# ---- repeated ----


def _sum_repeats(F: Any, grad: Any, shape: Sizes, repeats: Sizes) -> Any:
    lead = len(repeats) - len(shape)
    if 0 in repeats:
        return F._new_zeros(grad, shape)
    split: list[int] = []
    for d, times in enumerate(repeats):
        split += [times] if d < lead else [times, shape[d - lead]]
    dims = [*range(lead), *range(lead, len(split), 2)]
    if not dims:
        return grad * 1
    return F.sum(F.reshape(grad, tuple(split)), tuple(dims), False)


@hidden_op(
    {
        "self": lambda F, grad, self_shape, repeats: _sum_repeats(
            F, grad, self_shape, repeats
        )
    },
    name="repeat",
)
def _repeat(xp: Any, self: Array, repeats: Sizes) -> Any:
    """Repeat the tensor along each dimension, new ones in front."""
    return xp.ascontiguousarray(xp.tile(self, repeats)).reshape(
        [
            n
            * (
                1
                if d < len(repeats) - self.ndim
                else self.shape[d + self.ndim - len(repeats)]
            )
            for d, n in enumerate(repeats)
        ]
    )


@method("repeat")
def repeat(self: Tensor, *repeats: Any, **named: Any) -> Tensor:
    """Repeat the tensor along each dimension, new ones in front.

    >>> import gradtape as torch
    >>> torch.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    times = spread(repeats, "repeat", "repeats", named)
    if len(times) < self.dim():
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of "
            "dimensions of tensor"
        )
    padded = (1,) * (len(times) - self.dim()) + self._data.shape
    for n in times:
        if n < 0:
            size = [m * n for m, n in zip(padded, times, strict=True)]
            wrong = next(m for m in size if m < 0)
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {wrong}: {size}"
            )
    return _repeat(self, times)


@method(function=True)
def tile(input: Tensor, *dims: Any, **named: Any) -> Tensor:
    """Repeat the tensor along its last dimensions, as NumPy's tile does."""
    times = spread(dims, "tile", "dims", named)
    missing = check_tensor(input, "tile").dim() - len(times)
    return repeat(input, (1,) * missing + times)


@method(function=True)
@numpy_names
def repeat_interleave(
    input: Tensor,
    repeats: Any = None,
    dim: int | None = None,
    *,
    output_size: int | None = None,
) -> Tensor:
    """Repeat each element, or each position of a dimension, in its place.

    ``repeats`` is one number, or a tensor with a number for each position.

    >>> import gradtape as torch
    >>> torch.tensor([1, 2]).repeat_interleave(2)
    tensor([1, 1, 2, 2])
    """
    check_tensor(input, "repeat_interleave")
    xp = module_on(input.device)
    if repeats is None:
        return _counted(xp, input)
    source = input.flatten() if dim is None else input
    d = wrap_dim(0 if dim is None else dim, source.dim())
    if is_integer(repeats) and not isinstance(repeats, Tensor):
        if repeats < 0:
            raise RuntimeError("Repeats must be non-negative")
        size = source._data.shape
        widened = unsqueeze(source, d + 1)
        whole = expand(widened, (*size[: d + 1], repeats, *size[d + 1 :]))
        return whole.clone(memory_format=contiguous_format).flatten(d, d + 1)
    counts = repeats if isinstance(repeats, Tensor) else made(xp.asarray(repeats))
    if counts.dim() > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if counts.numel() == 1:
        counts = expand(reshape(counts, (1,)), (source.size(d),))
    elif counts.numel() != source.size(d):
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got "
            f"repeats.size(0) = {counts.numel()} and input.size({d}) = {source.size(d)}"
        )
    return source.index_select(d, _counted(xp, counts))


def _counted(xp: Any, repeats: Tensor) -> Tensor:
    if repeats.dim() != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if repeats._data.dtype.kind != "i":
        raise RuntimeError("repeats has to be Long or Int tensor")
    if (repeats._data < 0).any():
        raise RuntimeError("repeats can not be negative")
    places = xp.arange(repeats.numel(), dtype=repeats._data.dtype)
    return made(xp.repeat(places, repeats._data))


# ---- turned ----


@hidden_op({"self": lambda F, grad, dims: F.flip(grad, dims)}, name="flip")
def _flip(xp: Any, self: Array, dims: Sizes) -> Any:
    """Reverse the order of some dimensions."""
    return _as_input_lies(xp, xp.flip(self, dims), self) if self.ndim else self.copy()


def _as_input_lies(xp: Any, values: Any, like: Any) -> Any:
    fresh = array_like(xp, like)
    fresh[...] = values
    return fresh


@method("flip", function=True)
def flip(input: Tensor, *dims: Any, **named: Any) -> Tensor:
    """Reverse the order of some dimensions.

    >>> import gradtape as torch
    >>> torch.arange(3).flip(0)
    tensor([2, 1, 0])
    """
    if not dims and not named:
        raise TypeError('flip() missing 1 required positional arguments: "dims"')
    given = spread(dims, "flip", "dims", named)
    return _flip(input, wrap_dims(given, check_tensor(input, "flip").dim()))


@method("__reversed__")
def _reversed(self: Tensor) -> Tensor:
    return _flip(self, (0,)) if self.dim() else self


@method(function=True)
def fliplr(input: Tensor) -> Tensor:
    """Reverse the second dimension."""
    check_tensor(input, "fliplr")
    if input.dim() < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return _flip(input, (1,))


@method(function=True)
def flipud(input: Tensor) -> Tensor:
    """Reverse the first dimension."""
    check_tensor(input, "flipud")
    if input.dim() < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return _flip(input, (0,))


def _negated(shifts: Any) -> Any:
    return tuple(-n for n in shifts)


@hidden_op(
    {"self": lambda F, grad, shifts, dims: F.roll(grad, _negated(shifts), dims)},
    name="roll",
)
def _roll(xp: Any, self: Array, shifts: Sizes, dims: Sizes = ()) -> Any:
    """Move elements along dimensions; those that leave come in at the other end."""
    if not self.size:
        return dense_copy(xp, self)
    if not dims:
        return xp.roll(self, shifts[0])
    return moved_into(xp, xp.roll(self, shifts, dims), suggested_by(self))


@method("roll", function=True)
def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """Move elements along dimensions; those that leave come in at the other end."""
    check_tensor(input, "roll")
    by = (shifts,) if is_integer(shifts) else tuple(shifts)
    along = () if dims is None else (dims,) if is_integer(dims) else tuple(dims)
    if not by:
        raise RuntimeError("`shifts` required")
    if (not along and len(by) != 1) or (along and len(along) != len(by)):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(by)}, dims:{len(along)}"
        )
    for d in along:
        if not input.dim():
            raise IndexError(f"Dimension specified as {d} but tensor has no dimensions")
        wrap_dim(d, input.dim())
    return _roll(input, by, along)


@hidden_op({"self": lambda F, grad, k, dims: F.rot90(grad, -k, dims)}, name="rot90")
def _rot90(xp: Any, self: Array, k: int = 1, dims: Sizes = (0, 1)) -> Any:
    """Turn the plane of two dimensions by quarter turns."""
    first, second = dims
    turns = k % 4
    if turns == 2:
        return _as_input_lies(xp, xp.flip(self, dims), self)
    if turns == 0:
        return self.copy()
    turned = xp.flip(self, second if turns == 1 else first)
    dense = _as_input_lies(xp, turned, self)
    return xp.swapaxes(dense, first, second)


@method("rot90", function=True)
def rot90(input: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    """Turn the plane of two dimensions by ``k`` quarter turns."""
    ndim = check_tensor(input, "rot90").dim()
    if len(dims) != 2:
        raise RuntimeError(
            f"expected total rotation dims == 2, but got dims = {len(dims)}"
        )
    if ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {ndim}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == ndim:
        raise RuntimeError(
            "expected rotation dims to be different, but got dim0 = "
            f"{dims[0]} and dim1 = {dims[1]}"
        )
    k = as_integer(k, "rot90", "k", 2)
    return _rot90(input, k, tuple(wrap_dim(d, ndim) for d in dims))


# ---- multiplied out ----


@method(function=True)
@with_out(PLAIN)
def kron(input: Tensor, other: Tensor) -> Tensor:
    """Return the Kronecker product: every element of one times the whole other."""
    check_tensors("kron", input=input, other=other)
    ndim = max(input.dim(), other.dim())
    a = (1,) * (ndim - input.dim()) + input._data.shape
    b = (1,) * (ndim - other.dim()) + other._data.shape
    spread_a = tuple(n for length in a for n in (length, 1))
    spread_b = tuple(n for length in b for n in (1, length))
    product = unsafe_view(input, spread_a) * unsafe_view(other, spread_b)
    return unsafe_view(product, tuple(n * m for n, m in zip(a, b, strict=True)))


@public
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:  # noqa: N803
    """Return the powers of a vector's elements, one row per element."""
    check_tensor(x, "vander", "x")
    from ..creation.from_data import tensor

    if x.dim() != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    if N is not None and N < 0:
        raise RuntimeError("N must be non-negative.")
    count = x.numel() if N is None else N
    powers = range(count) if increasing else range(count - 1, -1, -1)
    return x.unsqueeze(-1) ** tensor(list(powers))
