"""Sums, means, products, and whether any or all elements are true."""

from __future__ import annotations

from typing import Any

from ..._backend import backend_of
from ..._dispatch.declare import FUNCTIONS, Array, method, op, pointwise
from ..._dtypes import CPP_TYPE, DTYPE_OF, parse_dtype
from ..._dtypes import dtype as DType
from ..._sparse.array import SparseArray
from ..._tensor.tensor import Tensor, wrap
from .._kernels.bitwise_select import check_floating
from .._kernels.blas_sums import LONG, sums, total
from .._support.arguments import as_integer, check_tensor
from .._support.declare_view import composed
from .._support.operands import HIDDEN, hidden_op, refuses
from .._support.out_argument import SAME_DTYPE, with_out
from .._support.reduction import (
    ABSENT,
    as_dims,
    axes_of,
    count_in,
    dim_argument,
    dtype_with_out,
    finish,
    in_dtype,
    in_whole,
    restored,
    spread_back,
    values_of,
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


def _prod_kernel(xp: Any, self: Array, dim: Any = None, keepdim: bool = False) -> Any:
    axes = axes_of(dim, self.ndim)
    found = xp.multiply.reduce(self, axis=axes, dtype=wide(self))
    if self.dtype.kind not in "biu":
        found = xp.asarray(found).astype(self.dtype, copy=False)
    return finish(xp, found, self.shape, axes, keepdim)


def on_diagonal(F: Any, like: Any, n: int) -> Any:
    """Return a square mask of the diagonal, raw or a tensor as the formula needs."""
    mask = backend_of(values_of(like)).xp.eye(n, dtype=bool)
    return mask if F.raw else wrap(mask)


def _others_backward(F: Any, grad: Any, self: Any, dim: int) -> Any:
    """Differentiate the product of all others: leave two out, for every pair."""
    last = F.transpose(self, dim, -1)
    shape = tuple(last.shape)
    same = on_diagonal(F, self, shape[-1])
    rows = F.expand(F.unsqueeze(last, -2), (*shape, shape[-1]))
    pairs = F._product_of_others(F.where(same, 1.0, rows), -1)
    grads = F.unsqueeze(F.transpose(grad, dim, -1), -1)
    back = F.sum(F.where(same, 0.0, grads * F.conj(pairs)), -2, False)
    return F.transpose(back, dim, -1)


@hidden_op({"self": _others_backward})
def _product_of_others(xp: Any, self: Array, dim: int) -> Any:
    """Multiply, for each element, all the others along a dimension."""
    if not self.ndim:
        return xp.ones_like(self)
    last = xp.moveaxis(self, dim, -1)
    before, after = xp.ones_like(last), xp.ones_like(last)
    before[..., 1:] = xp.cumprod(last[..., :-1], -1)
    after[..., :-1] = xp.cumprod(last[..., :0:-1], -1)[..., ::-1]
    return xp.moveaxis(before * after, -1, dim)


def _prod_backward(
    F: Any, grad: Any, self: Any, result: Any, dim: Any, keepdim: bool
) -> Any:
    shape = tuple(self.shape)
    if not shape:
        return grad
    grad = restored(F, grad, shape, dim, keepdim)
    if not (values_of(self) == 0).any():
        return grad * F.conj(restored(F, result, shape, dim, keepdim) / self)
    if F.raw and dim is None and (self == 0).sum() > 1:
        return F.zeros_like(self)
    if dim is None and len(shape) != 1:
        flat = F.reshape(self, (-1,))
        return grad * F.conj(F.reshape(F._product_of_others(flat, 0), shape))
    return grad * F.conj(F._product_of_others(self, 0 if dim is None else dim))


@hidden_op(
    {
        "self": lambda F, grad, self, result: _prod_backward(
            F, grad, self, result, None, False
        )
    },
    name="prod",
    key="_prod_all",
    out=True,
)
def _prod_all(xp: Any, self: Array, *, dtype: DType | None = None) -> Any:
    found = _prod_kernel(xp, in_dtype(self, dtype))
    return found if dtype is None else found.astype(dtype.numpy, copy=False)


@hidden_op(
    {"self": _prod_backward},
    name="prod",
    key="_prod_dim",
    node="ProdBackward1",
    out=True,
)
def _prod_dim(
    xp: Any, self: Array, dim: int, keepdim: bool, *, dtype: DType | None = None
) -> Any:
    found = _prod_kernel(xp, in_dtype(self, dtype), dim, keepdim)
    return found if dtype is None else found.astype(dtype.numpy, copy=False)


@method(function=True)
@composed(_prod_kernel)
def prod(
    input: Tensor,
    dim: Any = ABSENT,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
    axis: Any = ABSENT,
    keepdims: Any = ABSENT,
) -> Tensor:
    """Multiply all elements, or those along one dimension."""
    dim, keepdim = dim_argument(dim, axis, keepdim, keepdims)
    kind = None if dtype is None else parse_dtype(dtype, "prod")
    if dim is ABSENT or dim is None:
        return _prod_all(input, dtype=kind, out=out)
    kind = dtype_with_out(kind, out)
    return _prod_dim(
        input, as_integer(dim, "prod", "dim", 2), keepdim, dtype=kind, out=out
    )


def _truth(name: str) -> Any:
    def kernel(xp: Any, self: Array, dim: Any = None, keepdim: bool = False) -> Any:
        axes = () if dim in ((), []) else axes_of(dim, self.ndim)
        ufunc = xp.logical_or if name == "any" else xp.logical_and
        found = xp.asarray(ufunc.reduce(self, axis=axes, dtype=bool))
        # PyTorch keeps uint8, its bool of old.
        kind = self.dtype if self.dtype.name == "uint8" else bool
        return finish(xp, found.astype(kind), self.shape, axes, keepdim)

    kernel.__doc__ = f"Tell whether {name} of the elements are nonzero."
    return op({}, name=name, out=True, family="reduction")(kernel)


any = _truth("any")
all = _truth("all")


@op({}, family="reduction")
def count_nonzero(xp: Any, self: Array, dim: Any = None) -> Any:
    """Count the elements that are not zero."""
    axes = axes_of(dim, self.ndim)
    found = xp.add.reduce(self != 0, axis=axes, dtype="int64")
    return finish(xp, found, self.shape, axes, False)


def _nansum_backward(F: Any, grad: Any, self: Any, dim: Any, keepdim: bool) -> Any:
    there = F.logical_not(F.isnan(self))
    return spread_back(F, grad, tuple(self.shape), dim, keepdim) * there


@hidden_op(
    {"self": _nansum_backward},
    name="nansum",
    key="_nansum",
    check=refuses("c", "nansum on CPU does not support complex inputs"),
    out=True,
    family="reduction",
)
def _nansum(
    xp: Any, self: Array, dim: Any, keepdim: bool, *, dtype: DType | None = None
) -> Any:
    data = in_dtype(self, dtype)
    axes = axes_of(dim, data.ndim)
    if data.dtype.kind in "biu":
        found = in_whole(xp.add.reduce(data, axis=axes, dtype="int64"), dtype)
        return finish(xp, found, data.shape, axes, keepdim)
    if self.dtype.kind not in "biu":
        check_floating(data, "nansum_cpu", "c")
    there = xp.where(xp.isnan(data), 0, data)
    found = xp.asarray(xp.add.reduce(there, axis=axes, dtype=wide(data)))
    return finish(xp, found.astype(data.dtype), data.shape, axes, keepdim)


@method(function=True)
def nansum(
    input: Tensor,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
    axis: Any = ABSENT,
    keepdims: Any = ABSENT,
) -> Tensor:
    """Add up elements, NaN counting as zero."""
    dim, keepdim = dim_argument(dim, axis, keepdim, keepdims)
    kind = None if dtype is None else parse_dtype(dtype, "nansum")
    return _nansum(input, as_dims(dim, "nansum"), keepdim, dtype=kind, out=out)


@method(function=True)
@with_out()
def nanmean(
    input: Tensor,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    axis: Any = ABSENT,
    keepdims: Any = ABSENT,
) -> Tensor:
    """Average the elements that are not NaN."""
    check_tensor(input, "nanmean")
    dim, keepdim = dim_argument(dim, axis, keepdim, keepdims)
    if input._data.dtype.kind not in "fcV":
        raise RuntimeError(
            "nanmean(): expected input to have floating point or complex dtype but got "
            f"{input.dtype.cpp_name}"
        )
    there = input.detach().isnan().logical_not()
    count = there.sum() if dim is None and not keepdim else there.sum(dim, keepdim)
    return nansum(input, dim, keepdim, dtype=dtype).div(count)
