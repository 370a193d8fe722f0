"""Reading and writing at one index per element: gather, scatter, scatter_reduce."""

from __future__ import annotations

from typing import Any

from ..._common.warn import warn_once
from ..._dispatch.apply import apply
from ..._dispatch.declare import OPS, Array, method, op, tensor_ops
from ..._dispatch.inplace import inplace, write
from ..._dtypes import int64
from ..._tensor.tensor import Tensor
from .._support.arguments import check_tensors, wrap_dim
from .._support.new_tensor import row_major
from .._support.operands import hidden_op
from .._support.out_argument import SAME_DTYPE, into, with_out
from .._support.reduce_at_index import UFUNC, Places, at_once, combined, gradients_at
from .._support.reduction import numpy_names
from .._support.scalar_range import in_range
from ..views.reshape import broadcast_shapes, expand
from .slice_places import checks_dim

Sizes = tuple[int, ...]


# ---- checks ----


def _check_index(xp: Any, name: str, index: Any, length: int, dim: int) -> None:
    if index.dtype not in (xp.int64, xp.int32):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    wrong = (index < 0) | (index >= length)
    if wrong.any():
        raise RuntimeError(
            f"index {int(index[wrong][0])} is out of bounds for dimension {dim} with "
            f"size {length}"
        )


def _box(
    xp: Any, name: str, self: Any, dim: int, index: Any, src: Any = None
) -> tuple[int, Any]:
    """Return the dimension and the part of ``self`` that ``index`` lies over.

    Sizes are checked before the places that ``index`` names.
    """
    d = wrap_dim(dim, self.ndim)
    if max(index.ndim, 1) != max(self.ndim, 1):
        raise RuntimeError(
            "Index tensor must have the same number of dimensions as "
            + ("input tensor" if name == "gather" else "self tensor")
        )
    for i, (n, m) in enumerate(zip(index.shape, self.shape, strict=False)):
        if i != d and n > m:
            raise RuntimeError(_size_error(name, i, index.shape, self.shape, d, src))
    if src is not None:
        _check_source(index, src, d, self)
    _check_index(xp, name, index, self.shape[d] if self.ndim else 1, d)
    box = tuple(
        slice(None) if i == d else slice(0, n) for i, n in enumerate(index.shape)
    )
    return d, box


def _size_error(
    name: str, at: int, index: Sizes, mine: Sizes, dim: int, src: Any
) -> str:
    if name == "gather":
        return (
            f"Size does not match at dimension {at} expected index {list(index)} to be "
            f"no larger than self {list(mine)} apart from dimension {dim}"
        )
    return (
        f"Expected index {list(index)} to be no larger than self {list(mine)} apart "
        f"from dimension {dim}"
        + (
            ""
            if src is None
            else f" and to be no larger size than src {list(src.shape)}"
        )
    )


def _check_source(index: Any, src: Any, dim: int, self: Any) -> None:
    room = src.shape or (1,)
    too_large = False
    for d, n in enumerate(index.shape):
        if too_large := n > room[wrap_dim(d, len(room))]:
            break
    if len(room) != max(index.ndim, 1):
        raise RuntimeError(
            "Index tensor must have the same number of dimensions as src tensor"
        )
    if too_large:
        raise RuntimeError(
            f"Expected index {list(index.shape)} to be no larger than self "
            f"{list(self.shape)} apart from dimension {dim} and to be no larger size "
            f"than src {list(src.shape)}"
        )


def _places(xp: Any, index: Any, d: int) -> tuple[Any, ...]:
    """Return an index array per dimension: ``index`` for one, counting elsewhere."""
    places: list[Any] = []
    for i, n in enumerate(index.shape):
        shape = [1] * index.ndim
        shape[i] = n
        places.append(index if i == d else xp.arange(n).reshape(shape))
    return tuple(places)


def same_dtype(name: str, self: Any, src: Any) -> None:
    """Refuse a source of another dtype, in PyTorch's words."""
    if self.dtype != src.dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")


def check_places(
    xp: Any, self: Any, dim: int, index: Any, src: Any
) -> tuple[tuple[Any, ...], Any]:
    """Return where a scatter writes, and the part of ``src`` it takes."""
    d, _ = _box(xp, "scatter", self, dim, index, src)
    index = index.reshape(index.shape or (1,))
    part = src.reshape(src.shape or (1,))[tuple(slice(0, n) for n in index.shape)]
    return _places(xp, index, d), part


# ---- gather and scatter ----


@op(
    {
        "self": lambda F, grad, self, dim, index: F.scatter_add(
            F._new_zeros(grad, self.shape), dim, index, grad
        )
    },
    out=True,
    out_rule=SAME_DTYPE,
)
def gather(
    xp: Any, self: Array, dim: int, index: Array, *, sparse_grad: bool = False
) -> Any:
    """Take, at every place of ``index``, the element that it names along ``dim``.

    >>> import gradtape as torch
    >>> torch.tensor([[1, 2], [3, 4]]).gather(1, torch.tensor([[0], [1]]))
    tensor([[1],
            [4]])
    """
    wrap_dim(dim, self.ndim)
    if not index.size:
        return xp.empty(index.shape, self.dtype)
    d, box = _box(xp, "gather", self, dim, index)
    if not self.ndim:
        return xp.full(index.shape, self)
    if not index.ndim:
        return self[int(index)].copy()
    return row_major(xp, xp.take_along_axis(self[box], index, d))


def _scattered(xp: Any, name: str, self: Any, dim: int, index: Any, src: Any) -> Any:
    wrap_dim(dim, self.ndim)
    result = self.copy()
    if not index.size:
        return result
    d, _ = _box(xp, name, self, dim, index, src if hasattr(src, "shape") else None)
    if not self.ndim:
        result = xp.asarray(result)
        last = index.size - 1
        result[...] = src.reshape(-1)[last] if hasattr(src, "reshape") else src
        return result
    if not index.ndim:
        index = index.reshape(1)
    if hasattr(src, "shape"):
        src = src.reshape(src.shape or (1,))[tuple(slice(0, n) for n in index.shape)]
    result[_places(xp, index, d)] = src
    return result


@hidden_op(
    {
        "self": lambda F, grad, dim, index: F._scatter_value(grad, dim, index, 0),
        "src": lambda F, grad, dim, index: F.gather(grad, dim, index),
    },
    name="scatter",
    key="_scatter_src",
)
def _scatter_src(xp: Any, self: Array, dim: int, index: Array, src: Array) -> Any:
    """Write the elements of ``src`` at the places ``index`` names along ``dim``."""
    same_dtype("scatter", self, src)
    return _scattered(xp, "scatter", self, dim, index, src)


@hidden_op(
    {"self": lambda F, grad, dim, index: F._scatter_value(grad, dim, index, 0)},
    name="scatter",
    key="_scatter_value",
    node="ScatterBackward1",
)
def _scatter_value(xp: Any, self: Array, dim: int, index: Array, value: Any) -> Any:
    """Write one number at the places ``index`` names along ``dim``."""
    return _scattered(xp, "scatter", self, dim, index, value)


@op(
    {
        "self": lambda F, grad: grad,
        "src": lambda F, grad, dim, index: F.gather(grad, dim, index),
    },
    check=checks_dim,
    out=True,
    out_rule=SAME_DTYPE,
)
def scatter_add(xp: Any, self: Array, dim: int, index: Array, src: Array) -> Any:
    """Add the elements of ``src`` at the places ``index`` names along ``dim``."""
    same_dtype("scatter", self, src)
    result = self.copy()
    if not index.size:
        return result
    if not self.ndim:
        _box(xp, "scatter_add", self, dim, index, src)
        terms = src.reshape(-1)[: index.size]
        return xp.asarray(result + terms.sum()).astype(self.dtype)
    places, part = check_places(xp, self, dim, index, src)
    at_once(xp.add, result, places, part)
    return result


inplace("scatter_add")


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
    wrap_dim(dim, input.dim())
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
    is_complex = value.is_complex() if isinstance(value, Tensor) else False
    if (is_complex or isinstance(value, complex)) and not input.dtype.is_complex:
        raise RuntimeError(
            "index_fill_(): Converting complex Scalar to non-complex type is not "
            "supported"
        )
    if isinstance(value, Tensor):
        if value.dim():
            raise RuntimeError(
                "index_fill_ only supports a 0-dimensional value tensor, but got "
                f"tensor with {value.dim()} dimension(s)."
            )
        if value.dtype is not input.dtype and not value.is_meta:
            in_range(value.item(), input.dtype)
        return "_index_fill_tensor", (input, index, value), (dim,)
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


_TWO_ZEROS = (
    "scatter_reduce(): Double backward is unsupported for src when >1 zeros in src are "
    "scattered to the same position in self"
)


def _gradients(
    F: Any,
    grad: Any,
    self: Any,
    index: Any,
    src: Any,
    result: Any,
    dim: int,
    reduce: str,
    include_self: bool,
) -> tuple[Any, Any]:
    places = Places(
        take=lambda x: F.gather(x, dim, index),
        add=lambda x, y: F.scatter_add(x, dim, index, y),
        combine=lambda x, y: F.scatter_reduce(x, dim, index, y, reduce, include_self),
        clear=lambda x: F._scatter_value(x, dim, index, 0),
        refusal=_TWO_ZEROS,
    )
    return gradients_at(F, grad, self, src, result, reduce, include_self, places)


@hidden_op({("self", "src"): _gradients}, name="scatter_reduce")
def _scatter_reduce(
    xp: Any,
    self: Array,
    dim: int,
    index: Array,
    src: Array,
    reduce: str,
    include_self: bool = True,
) -> Any:
    """Combine the elements of ``src`` at the places ``index`` names along ``dim``."""
    if reduce not in UFUNC:
        raise RuntimeError(
            "reduce argument must be either sum, prod, mean, amax or amin, got "
            f"{reduce}"
        )
    same_dtype("scatter", self, src)
    if not index.size:
        return self.copy()
    places, part = check_places(xp, self, dim, index, src)
    return combined(xp, self, places, part, reduce, include_self)


@method(function=True)
@with_out(SAME_DTYPE)
def scatter_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> Tensor:
    """Combine elements at places named along a dimension: sum, prod, mean, amax, amin.

    >>> import gradtape as torch
    >>> torch.zeros(2).scatter_reduce(
    ...     0, torch.tensor([0, 0]), torch.tensor([1.0, 2.0]), "amax"
    ... )
    tensor([2., 0.])
    """
    options = (dim, reduce, include_self)
    return apply(OPS["scatter_reduce"], (input, index, src), options)


@method()
def scatter_reduce_(
    self: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> Tensor:
    """In-place version of scatter_reduce()."""
    options = (dim, reduce, include_self)
    return write(OPS["scatter_reduce"], (self, index, src), options)
