"""Whole slices by their numbers: index_select, index_add, index_copy, index_reduce."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..._common.warn import warn_once
from ..._dispatch.apply import apply
from ..._dispatch.declare import OPS, Array, method, op
from ..._dispatch.inplace import inplace, write
from ..._dtypes import DTYPE_OF
from ..._sparse.array import SparseArray
from ..._tensor.tensor import Tensor
from .._support.arguments import wrap_dim
from .._support.new_tensor import dense_copy
from .._support.operands import hidden_op, number
from .._support.out_argument import SAME_DTYPE, with_out
from .._support.reduce_at_index import Places, at_once, combined, gradients_at
from .slice_places import (
    check_added,
    checks_dim,
    length_of,
    places_to_add,
    places_to_copy,
    places_to_fill,
)


def _counted(places: Any, shape: tuple[int, ...], dim: int) -> Any:
    """Return places counted from the front; refuse those that are not there."""
    length = shape[dim]
    wrong = (places < -length) | (places >= length)
    if wrong.any():
        raise IndexError(
            f"index_select(): index contains {places[wrong][0]} that is out of range "
            f"for tensor of size {list(shape)} at dimension {dim}"
        )
    return places % max(length, 1)


def _vector(xp: Any, index: Any) -> Any:
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index.dtype not in (xp.int64, xp.int32):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    return index.reshape(-1)


def _at(self: Any, d: int, index: Any) -> tuple[Any, ...]:
    return (*(slice(None),) * d, index)


@op(
    {
        "self": lambda F, grad, self_shape, dim, index: F.index_add(
            F._new_zeros(grad, self_shape), dim, index, grad
        )
    },
    out=True,
    out_rule="{name}(): self and result must have the same scalar type",
)
def index_select(xp: Any, self: Array, dim: int, index: Array) -> Any:
    """Take positions of a dimension, in the order of the vector ``index``.

    >>> import gradtape as torch
    >>> torch.eye(2).index_select(0, torch.tensor([1]))
    tensor([[0., 1.]])
    """
    d = wrap_dim(dim, self.ndim)
    places = _vector(xp, index)
    if type(self) is SparseArray:
        return self.taken(_counted(places, self.shape, d), d)
    length = self.shape[d] if self.ndim else 1
    wrong = (places < 0) | (places >= length)
    if wrong.any():
        _refuse_selected(self, d, int(places[wrong][0]))
    if not self.ndim:
        if places.size != 1:
            raise RuntimeError(
                "index_select(): Index to scalar can have only 1 value, got "
                f"{places.size} value(s)"
            )
        return self.copy()
    return xp.ascontiguousarray(xp.take(self, places, d))


def _refuse_selected(self: Any, d: int, place: int) -> None:
    """Raise for a position that is not there; PyTorch has a sentence per dimension."""
    if self.ndim > 1 and not self.shape[d]:
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    if self.ndim < 2 or (d != 1 and self.size):
        raise IndexError("index out of range in self")
    raise RuntimeError(
        f"INDICES element is out of DATA bounds, id={place} axis_dim={self.shape[d]}"
    )


def _check_reached(self: Any, d: int, places: Any, outermost: bool) -> None:
    """Refuse to add where there is nothing; PyTorch's two loops say it in two ways."""
    length = length_of(self, d)
    wrong = places[(places < 0) | (places >= length)]
    if not wrong.size or (outermost and not self.size):
        return
    if not outermost:
        raise IndexError("index out of range in self")
    raise RuntimeError(
        f"index {int(wrong[0])} is out of bounds for dimension {d} with size {length}"
    )


@op(
    {
        "self": lambda F, grad: grad,
        "source": lambda F, grad, source, dim, index, alpha: F.expand(
            F.index_select(grad, dim, index) * alpha, source.shape
        ),
    },
    check=check_added,
    out=True,
    out_rule=SAME_DTYPE,
)
def index_add(
    xp: Any, self: Array, dim: int, index: Array, source: Array, *, alpha: Any = 1
) -> Any:
    """Add positions of ``source`` to those that ``index`` names, times ``alpha``."""
    d = wrap_dim(dim, self.ndim)
    places = index.reshape(-1)
    outermost = self.ndim > 1 and d in (0, self.ndim - 1)
    _check_reached(self, d, places, outermost)
    if alpha != 1:  # the number in the source's type: -1 is 255 in uint8
        source = source * xp.asarray(number(alpha)).astype(source.dtype)
    result = self.copy()
    if not self.ndim:
        return xp.asarray(result + source.sum()).astype(self.dtype)
    if not self.size:
        return result
    add = partial(at_once, xp.add) if outermost else xp.add.at  # which rounds each sum
    add(result, _at(self, d, places), source)
    return result


@op(
    {
        "self": lambda F, grad, dim, index: F._index_fill_value(grad, dim, index, 0),
        "source": lambda F, grad, source, dim, index: F.expand(
            F.index_select(grad, dim, index), source.shape
        ),
    },
    check=checks_dim,
    out=True,
    out_rule=SAME_DTYPE,
)
def index_copy(xp: Any, self: Array, dim: int, index: Array, source: Array) -> Any:
    """Write the positions of ``source`` over those that ``index`` names."""
    d = wrap_dim(dim, self.ndim)
    places = places_to_copy(self, d, index, source)
    result = self.copy()
    if not self.ndim:  # the last one stays
        result.reshape(1)[places] = source.reshape(-1)
    elif self.size:
        result[_at(self, d, places)] = source
    return result


def _filled(xp: Any, self: Any, dim: int, index: Any, value: Any) -> Any:
    d = wrap_dim(dim, self.ndim)
    places = places_to_fill(self, d, index)
    result = dense_copy(xp, self)
    if self.size:
        whole = result if self.ndim else result.reshape(1)
        whole[_at(whole, d, places)] = value
    return result


@hidden_op({})
def _distinct(xp: Any, self: Array) -> Any:
    """Return the positions without repetition."""
    return xp.unique(self)


@hidden_op(
    {"self": lambda F, grad, dim, index: F._index_fill_value(grad, dim, index, 0)},
    name="index_fill",
    key="_index_fill_value",
)
def _index_fill_value(xp: Any, self: Array, dim: int, index: Array, value: Any) -> Any:
    """Write one number at the positions that ``index`` names."""
    return _filled(xp, self, dim, index, value)


@hidden_op(
    {
        "self": lambda F, grad, dim, index: F._index_fill_value(grad, dim, index, 0),
        "value": lambda F, grad, dim, index: F.sum(
            F.index_select(grad, dim, F._distinct(index))
        ),
    },
    name="index_fill",
    key="_index_fill_tensor",
    node="IndexFillBackward1",
)
def _index_fill_tensor(
    xp: Any, self: Array, dim: int, index: Array, value: Array
) -> Any:
    """Write the value of a 0-d tensor at the positions that ``index`` names."""
    return _filled(xp, self, dim, index, value)


inplace("index_add", "index_copy")


_BETA = "index_reduce() is in beta and the API may change at any time."
_TWO_ZEROS = (
    "index_reduce(): Double backward is unsupported for source when >1 zeros in source "
    "are scattered to the same position in self"
)


def _gradients(
    F: Any,
    grad: Any,
    self: Any,
    index: Any,
    source: Any,
    result: Any,
    dim: int,
    reduce: str,
    include_self: bool,
) -> tuple[Any, Any]:
    places = Places(
        take=lambda x: F.index_select(x, dim, index),
        add=lambda x, y: F.index_add(x, dim, index, y),
        combine=lambda x, y: F.index_reduce(x, dim, index, y, reduce, include_self),
        clear=lambda x: F._index_fill_value(x, dim, index, 0),
        refusal=_TWO_ZEROS,
    )
    return gradients_at(F, grad, self, source, result, reduce, include_self, places)


@hidden_op({("self", "source"): _gradients}, name="index_reduce")
def _index_reduce(
    xp: Any,
    self: Array,
    dim: int,
    index: Array,
    source: Array,
    reduce: str,
    include_self: bool = True,
) -> Any:
    """Combine positions of ``source`` with those that ``index`` names along ``dim``."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(
            "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but "
            f"got {reduce}."
        )
    d = wrap_dim(dim, self.ndim)
    places = places_to_add("index_reduce", self, d, index, source)
    _check_reached(self, d, places, outermost=False)
    if self.dtype.kind in "bc":
        kind = DTYPE_OF[self.dtype].cpp_name
        raise NotImplementedError(f"\"index_func_\" not implemented for '{kind}'")
    if not index.size:
        return self.copy()
    at = (*(slice(None),) * d, places)
    part = source if self.ndim else source.reshape(1)
    return combined(xp, self, at, part, reduce, include_self, stepwise=True)


@method(function=True)
@with_out(SAME_DTYPE)
def index_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> Tensor:
    """Combine positions of a dimension in one of four ways: prod, mean, amax, amin.

    ``include_self=False`` leaves out what was at the positions before. Warns, once,
    that PyTorch may still change it.
    """
    warn_once(_BETA)
    options = (dim, reduce, include_self)
    return apply(OPS["index_reduce"], (input, index, source), options)


@method()
def index_reduce_(
    self: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> Tensor:
    """In-place version of index_reduce()."""
    warn_once(_BETA)
    options = (dim, reduce, include_self)
    return write(OPS["index_reduce"], (self, index, source), options)
