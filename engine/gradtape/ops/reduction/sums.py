"""Sums, means and products."""

from __future__ import annotations

from typing import Any

from ..._dispatch.declare import FUNCTIONS, Array, method, pointwise
from ..._dtypes import CPP_TYPE, DTYPE_OF, parse_dtype
from ..._dtypes import dtype as DType
from ..._sparse.array import SparseArray
from ..._tensor.tensor import Tensor
from .._kernels.blas_sums import LONG, sums, total
from .._support.declare_view import composed
from .._support.dim_keepdim import ABSENT, dim_argument
from .._support.operands import HIDDEN, hidden_op
from .._support.out_argument import SAME_DTYPE
from .._support.reduction import (
    as_dims,
    axes_of,
    count_in,
    dtype_with_out,
    finish,
    in_dtype,
    in_whole,
    restored,
    spread_back,
    wide,
)

# ---- sum ----


def _sum_kernel(xp: Any, self: Array, dim: Any = None, keepdim: bool = False) -> Any:
    axes = axes_of(dim, self.ndim)
    found = _added_up(xp, self, axes)
    if self.dtype.kind not in "biu":
        found = xp.asarray(found).astype(self.dtype, copy=False)
    return finish(xp, found, self.shape, axes, keepdim)


def _added_up(xp: Any, array: Any, axes: tuple[int, ...]) -> Any:
    kind = wide(array)
    if kind is array.dtype:
        return sums(xp, array, axes)
    return xp.add.reduce(array, axis=axes, dtype=kind)


def _sum_kernel_of_all(xp: Any, self: Array) -> Any:
    return _sum_kernel(xp, self)


def _fast_total(xp: Any, self: Array) -> Any:
    return _sum_kernel(xp, self) if self.itemsize == 2 else _total(xp, self)


def _total(xp: Any, array: Any) -> Any:
    return total(array) if array.size > LONG else xp.add.reduce(array, None)


_sum_plain = pointwise(
    "sum",
    _fast_total,
    {"self": lambda F, grad, self_shape: F.expand(grad, self_shape)},
    key="_sum_plain",
    general=_sum_kernel_of_all,
    promotion="none",
    family="reduction",
    out=False,
    **HIDDEN,
)


@hidden_op(
    {"self": lambda F, grad, self_shape: F.expand(grad, self_shape)},
    name="sum",
    key="_sum_all",
    out=True,
    family="reduction",
)
def _sum_all(xp: Any, self: Array, *, dtype: DType | None = None) -> Any:
    return in_whole(_sum_kernel(xp, in_dtype(self, dtype)), dtype)


@hidden_op(
    {
        "self": lambda F, grad, self_shape, dim, keepdim: spread_back(
            F, grad, self_shape, dim, keepdim
        )
    },
    name="sum",
    key="_sum_dims",
    node="SumBackward1",
    out=True,
    family="reduction",
)
def _sum_dims(
    xp: Any, self: Array, dim: Any, keepdim: bool, *, dtype: DType | None = None
) -> Any:
    return in_whole(_sum_kernel(xp, in_dtype(self, dtype), dim, keepdim), dtype)


@method(function=True)
@composed(_sum_kernel)
def sum(
    input: Tensor,
    dim: Any = ABSENT,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
    axis: Any = ABSENT,
    keepdims: Any = ABSENT,
) -> Tensor:
    """Add up all elements, or those along one or several dimensions.

    Integers and bools add up to int64.
    """
    if dim is axis is ABSENT and dtype is out:  # both None
        return _sum_plain(input)
    dim, keepdim = dim_argument(dim, axis, keepdim, keepdims)
    kind = None if dtype is None else parse_dtype(dtype, "sum")
    if dim is not ABSENT and type(getattr(input, "_data", None)) is SparseArray:
        return FUNCTIONS["_sparse_sum"](input, dim, kind, keepdim)
    if dim is ABSENT:
        return _sum_all(input, dtype=kind, out=out)
    kind = dtype_with_out(kind, out)
    return _sum_dims(input, as_dims(dim, "sum"), keepdim, dtype=kind, out=out)


# ---- mean ----


def _mean_kernel(xp: Any, self: Array, dim: Any = None, keepdim: bool = False) -> Any:
    axes = axes_of(dim, self.ndim)
    whole = xp.asarray(_added_up(xp, self, axes))
    found = xp.divide(whole, max(count_in(self.shape, dim), 0)).astype(self.dtype)
    return finish(xp, found, self.shape, axes, keepdim)


def _mean_backward(F: Any, grad: Any, shape: Any, dim: Any, keepdim: bool) -> Any:
    if dim is not None:
        grad = restored(F, grad, shape, dim, keepdim)
    count = count_in(shape, dim)
    if F.raw:  # and in memory of its own, which may be written
        return F.expand(grad / count, tuple(shape)).copy()
    return F.expand(grad, tuple(shape)) / count


def _check_mean(name: str, self: Tensor, *options: Any) -> None:
    given = options[-1]
    dtype = given or DTYPE_OF[self._data.dtype]
    if not (dtype.is_floating_point or dtype.is_complex):
        what = "Optional" if given else "Input"
        raise RuntimeError(
            f"{name}(): could not infer output dtype. {what} dtype must be "
            f"either a floating point or complex dtype. Got: {dtype.cpp_name}"
        )


def _mean_of_all(xp: Any, self: Array) -> Any:
    return _mean_kernel(xp, self)


def _fast_mean(xp: Any, self: Array) -> Any:
    if self.itemsize == 2:
        return _mean_kernel(xp, self)
    return _total(xp, self) / self.size


_mean_plain = pointwise(
    "mean",
    _fast_mean,
    {
        "self": lambda F, grad, self_shape: _mean_backward(
            F, grad, self_shape, None, False
        )
    },
    key="_mean_plain",
    general=_mean_of_all,
    check=lambda name, self: _check_mean(name, self, None),
    promotion="none",
    family="reduction",
    out=False,
    **HIDDEN,
)


@hidden_op(
    {
        "self": lambda F, grad, self_shape: _mean_backward(
            F, grad, self_shape, None, False
        )
    },
    name="mean",
    key="_mean_all",
    check=_check_mean,
    out=True,
    family="reduction",
)
def _mean_all(xp: Any, self: Array, *, dtype: DType | None = None) -> Any:
    return _mean_kernel(xp, in_dtype(self, dtype))


@hidden_op(
    {
        "self": lambda F, grad, self_shape, dim, keepdim: _mean_backward(
            F, grad, self_shape, dim, keepdim
        )
    },
    name="mean",
    key="_mean_dims",
    node="MeanBackward1",
    check=_check_mean,
    out=True,
    family="reduction",
)
def _mean_dims(
    xp: Any, self: Array, dim: Any, keepdim: bool, *, dtype: DType | None = None
) -> Any:
    return _mean_kernel(xp, in_dtype(self, dtype), dim, keepdim)


@method(function=True)
@composed(_mean_kernel)
def mean(
    input: Tensor,
    dim: Any = ABSENT,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
    axis: Any = ABSENT,
    keepdims: Any = ABSENT,
) -> Tensor:
    """Average all elements, or those along one or several dimensions.

    Raises RuntimeError for integers; ``dtype`` says what to average in.
    """
    if dim is axis is ABSENT and dtype is out:  # both None
        return _mean_plain(input)
    dim, keepdim = dim_argument(dim, axis, keepdim, keepdims)
    kind = None if dtype is None else parse_dtype(dtype, "mean")
    if kind is not None and out is not None and out.dtype is not kind:
        wanted, given = CPP_TYPE[kind], CPP_TYPE[out.dtype]
        raise RuntimeError(SAME_DTYPE.format(wanted=wanted, given=given))
    if dim is ABSENT:
        return _mean_all(input, dtype=kind, out=out)
    return _mean_dims(input, as_dims(dim, "mean"), keepdim, dtype=kind, out=out)
