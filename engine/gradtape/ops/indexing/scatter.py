"""The public faces of ops that take a tensor or a number: scatter, index_fill."""

from __future__ import annotations

from typing import Any

from ..._common.warn import warn_once
from ..._dispatch.apply import apply
from ..._dispatch.declare import OPS, method, tensor_ops
from ..._dispatch.inplace import write
from ..._dtypes import int64
from ..._tensor.tensor import Tensor
from .._support.arguments import check_tensors, wrap_dim
from .._support.dim_keepdim import numpy_names
from .._support.out_argument import SAME_DTYPE, into, with_out
from .._support.scalar_range import in_range
from ..views.broadcast import broadcast_shapes, expand
from . import gather as gather  # declares what is called here

_REDUCE = (
    "The reduce argument of torch.scatter with Tensor src is deprecated and will be "
    "removed in a future PyTorch release. Use torch.scatter_reduce instead for more "
    "reduction options."
)
Call = tuple[str, tuple[Any, ...], tuple[Any, ...]]


def _scatter_call(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Any,
    value: Any,
    reduce: str | None,
) -> Call:
    if value is not None and src is None:
        src = value
    if reduce is not None:
        kind = {"add": "sum", "multiply": "prod"}.get(reduce)
        if kind is None:
            raise RuntimeError("reduce argument must be either add or multiply.")
        if isinstance(src, Tensor):
            warn_once(_REDUCE)
        whole = src if isinstance(src, Tensor) else input.new_full(index.shape, src)
        return "scatter_reduce", (input, index, whole), (dim, kind, True)
    if isinstance(src, Tensor):
        return "_scatter_src", (input, index, src), (dim,)
    return "_scatter_value", (input, index), (dim, in_range(src, input.dtype))


@method(function=True)
@numpy_names
@with_out(SAME_DTYPE)
def scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Any = None,
    *,
    value: Any = None,
    reduce: str | None = None,
) -> Tensor:
    """Write elements of ``src``, or one number, at places named along a dimension.

    >>> import gradtape as torch
    >>> torch.zeros(3).scatter(0, torch.tensor([2, 0]), 1.0)
    tensor([1., 0., 1.])
    """
    name, tensors, options = _scatter_call(input, dim, index, src, value, reduce)
    return apply(OPS[name], tensors, options)


@method()
def scatter_(
    self: Tensor,
    dim: int,
    index: Tensor,
    src: Any = None,
    *,
    value: Any = None,
    reduce: str | None = None,
) -> Tensor:
    """In-place version of scatter()."""
    name, tensors, options = _scatter_call(self, dim, index, src, value, reduce)
    return write(OPS[name], tensors, options)


def _index_fill_call(input: Tensor, dim: int, index: Tensor, value: Any) -> Call:
    if isinstance(value, Tensor):
        if value.dim():
            raise RuntimeError(
                "index_fill_ only supports a 0-dimensional value tensor, but got "
                f"tensor with {value.dim()} dimension(s)."
            )
        if value.dtype is not input.dtype and not value.is_meta:
            in_range(value.item(), input.dtype)
        return "_index_fill_tensor", (input, index, value), (dim,)
    if isinstance(value, complex) and not input.dtype.is_complex:
        raise RuntimeError(
            "index_fill_(): Converting complex Scalar to non-complex type is not "
            "supported"
        )
    return "_index_fill_value", (input, index), (dim, in_range(value, input.dtype))


@method(function=True)
@numpy_names
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """Write one number at the positions of a dimension that ``index`` names."""
    name, tensors, options = _index_fill_call(input, dim, index, value)
    return apply(OPS[name], tensors, options)


@method()
def index_fill_(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """In-place version of index_fill()."""
    name, tensors, options = _index_fill_call(self, dim, index, value)
    return write(OPS[name], tensors, options)


@method(function=True)
@numpy_names
def take_along_dim(
    input: Tensor,
    indices: Tensor,
    dim: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Gather along a dimension, or from all elements in a row where it is None.

    Negative indices count from the end.
    """
    check_tensors("take_along_dim", input=input, indices=indices)
    given = (input, indices)
    return into("gather", out, given, lambda: _taken(input, indices, dim))


def _taken(input: Tensor, indices: Tensor, dim: int | None) -> Tensor:
    if dim is None:
        places = _from_front(indices.view(-1), input.numel())  # type: ignore[attr-defined]
        return tensor_ops.gather(input.view(-1), 0, places)  # type: ignore[attr-defined]
    if input.dim() != indices.dim():
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of "
            f"dimensions, but got {input.dim()} dimensions for input, and "
            f"{indices.dim()} dimensions for indices"
        )
    if indices.dtype is not int64:
        kind = indices.dtype.cpp_name
        raise RuntimeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {kind}"
        )
    d = wrap_dim(dim, input.dim())
    mine, theirs = list(input._data.shape), list(indices._data.shape)
    mine[d] = theirs[d] = 1
    shape = list(broadcast_shapes(mine, theirs))
    shape[d] = indices.size(d)
    wide = expand(_from_front(indices, input.size(d)), tuple(shape))
    shape[d] = input.size(d)
    return tensor_ops.gather(expand(input, tuple(shape)), d, wide)


def _from_front(indices: Tensor, size: int) -> Tensor:
    if not (indices._data < 0).any():
        return indices
    return tensor_ops.where(indices < 0, indices + size, indices)
