"""any, all, counting, and sums that step over NaN."""

from __future__ import annotations

from typing import Any

from ..._dispatch.declare import Array, method, op
from ..._dtypes import dtype as DType
from ..._dtypes import parse_dtype
from ..._tensor.tensor import Tensor
from .._support.arguments import check_tensor
from .._support.dim_keepdim import ABSENT, dim_argument
from .._support.operands import hidden_op, refuses
from .._support.out_argument import with_out
from .._support.reduction import (
    as_dims,
    axes_of,
    finish,
    in_dtype,
    in_whole,
    spread_back,
    wide,
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
