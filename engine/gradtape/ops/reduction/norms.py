"""Norms, variances and standard deviations."""

from __future__ import annotations

import warnings
from math import inf
from typing import Any

import numpy as np

from ..._autocast.autocast import autocasts
from ..._common.site import user_stacklevel
from ..._dispatch.declare import Array, method, op
from ..._dtypes import DTYPE_OF
from ..._dtypes import dtype as DType
from ..._graph.output_layout import LARGE
from ..._tensor.tensor import Tensor
from .._kernels.blas_sums import sums, sums_of, total_of_squares
from .._kernels.cache_blocks import in_blocks, want_rows
from .._support.arguments import as_bool
from .._support.matrix_product import scalar_name
from .._support.operands import HIDDEN, hidden_op
from .._support.reduction import (
    ABSENT,
    as_dims,
    axes_of,
    count_in,
    dim_argument,
    finish,
    in_dtype,
    kept_shape,
    restored,
    spread_back,
    wide,
)
from .._support.special import widened
from ..pointwise.arithmetic import NO_BOOL_MINUS


def norm_backward(
    F: Any, grad: Any, self: Any, p: float, norm: Any, dim: Any, keepdim: bool
) -> Any:
    """Return the gradient of a p-norm, zero where PyTorch makes it so."""
    shape = tuple(self.shape)
    grad = restored(F, grad, shape, dim, keepdim)
    norm = restored(F, norm, shape, dim, keepdim)
    if p == 0:
        return None
    if p == 1:
        return F.sgn(self) * grad
    if p == 2:
        if F.raw and want_rows(np, self, norm, grad) and norm.all():
            found = np.empty(shape, self.dtype)
            return in_blocks(np, _unit_times, found, self, norm, grad)
        return _times(F, _unit(F, self, norm), grad)
    if p in (inf, -inf):
        size = F.abs(self)
        mask = (size == norm) | F.isnan(size)
        count = F.sum(mask, axes_of(dim, len(shape)), True) if shape else F.sum(mask)
        return F.sgn(self) * ((grad / count) * mask)
    if p < 1:
        steep = F.sgn(self) * F.where(self == 0, 0.0, F.abs(self) ** (p - 1))
        return steep * grad * norm ** (1 - p)
    scale = F.where(norm == 0, 0.0, grad / norm ** (p - 1))
    if p < 2:
        return F.sgn(self) * F.abs(self) ** (p - 1) * scale
    return self * F.abs(self) ** (p - 2) * scale


def _unit_times(xp: Any, found: Any, x: Any, norm: Any, grad: Any) -> None:
    xp.divide(x, norm, found)
    xp.multiply(found, grad, found)


def _unit(F: Any, self: Any, norm: Any) -> Any:
    """Divide by a norm; 0 where it is 0."""
    none = norm == 0
    found = self / norm
    return found if F.raw and not none.any() else F.where(none, 0.0, found)


def _times(F: Any, parts: Any, grad: Any) -> Any:
    """Return ``grad * parts``, in the memory of large parts, which are ours."""
    alike = F.raw and parts.dtype == grad.dtype and parts.dtype.kind == "f"
    if not alike or parts.size < LARGE or parts.ndim < grad.ndim:
        return grad * parts
    parts *= grad
    return parts


def _norm_of(xp: Any, self: Any, p: float, axes: Any) -> Any:
    if p == 2 and self.dtype.kind == "f" and self.itemsize > 2:
        whole = len(axes) == self.ndim
        return xp.sqrt(
            total_of_squares(xp, self) if whole else sums_of(xp, _square, axes, self)
        )
    size = xp.abs(self)
    size = size.astype(wide(size), copy=False)
    if p == inf:
        return xp.maximum.reduce(size, axis=axes, initial=0)
    if p == -inf:
        return xp.minimum.reduce(size, axis=axes, initial=inf)
    if p == 0:
        return xp.add.reduce(size != 0, axis=axes, dtype=size.dtype)
    if p == 1:
        return xp.add.reduce(size, axis=axes)
    if p == 2:
        return xp.sqrt(xp.add.reduce(size * size, axis=axes))
    return xp.add.reduce(size**p, axis=axes) ** (1 / p)


def _square(xp: Any, found: Any, x: Any) -> None:
    xp.multiply(x, x, found)


def _check_norm(_name: str, self: Tensor, _p: Any, dim: Any, _k: Any, dt: Any) -> None:
    kind = DTYPE_OF[self._data.dtype]
    if not (kind.is_floating_point or kind.is_complex):
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. "
            f"Got {kind.cpp_name}"
        )


@hidden_op(
    {
        "self": lambda F, grad, self, result, ord, dim, keepdim: norm_backward(
            F, grad, self, ord, result, dim, keepdim
        )
    },
    check=_check_norm,
    out=True,
)
def linalg_vector_norm(
    xp: Any,
    self: Array,
    ord: float = 2,
    dim: Any = None,
    keepdim: bool = False,
    dtype: DType | None = None,
) -> Any:
    """Return the p-norm over all or some dimensions."""
    data = in_dtype(self, dtype)
    axes = axes_of(dim, data.ndim)
    found = xp.asarray(_norm_of(xp, data, ord, axes))
    real = data.real.dtype if data.dtype.kind == "c" else data.dtype
    return finish(xp, found.astype(real), data.shape, axes, keepdim)


@op(
    {
        "self": lambda F, grad, self, other, result, p: norm_backward(
            F, grad, self - other, p, result, None, False
        ),
        "other": lambda F, grad, self, other, result, p: norm_backward(
            F, -grad, self - other, p, result, None, False
        ),
    },
    promotion="common",
)
def dist(xp: Any, self: Array, other: Array, p: float = 2) -> Any:
    """Return the p-norm of the difference of two tensors."""
    if self.dtype.kind == "b":
        raise RuntimeError(NO_BOOL_MINUS)
    apart = self - other
    if apart.dtype.kind in "iu":
        raise RuntimeError(
            "norm(): input dtype should be either floating point or complex. Got "
            f"{scalar_name(apart)} instead."
        )
    found = xp.asarray(_norm_of(xp, apart, p, tuple(range(apart.ndim))))
    return found.astype(apart.real.dtype)


# ---- logsumexp ----


def _logsumexp_backward(
    F: Any, grad: Any, self: Any, result: Any, dim: Any, keepdim: bool
) -> Any:
    shape = tuple(self.shape)
    grad = restored(F, grad, shape, dim, keepdim)
    result = restored(F, result, shape, dim, keepdim)
    if F.raw and want_rows(np, self, result, grad):
        found = np.empty(shape, self.dtype)
        return in_blocks(np, _share_block, found, self, result, grad)
    parts = self - result
    if type(parts) is np.ndarray and parts.size >= LARGE:
        parts = np.exp(parts, parts)  # in memory that is ours
    else:
        parts = F.exp(parts)
    return _times(F, F.conj(parts), grad)


def _share_block(xp: Any, found: Any, x: Any, result: Any, grad: Any) -> None:
    _exp_apart(xp, found, x, result)
    xp.multiply(found, grad, found)


def _exp_apart(xp: Any, found: Any, x: Any, top: Any) -> None:
    xp.exp(xp.subtract(x, top, found), found)


@hidden_op(
    {
        "self": lambda F, grad, self, result, dim, keepdim: _logsumexp_backward(
            F, grad, self, result, dim, keepdim
        )
    },
    name="logsumexp",
    key="_logsumexp",
    promotion="float",
    out=True,
)
def _logsumexp(xp: Any, self: Array, dim: Any, keepdim: bool) -> Any:
    axes = axes_of(dim, self.ndim)
    data = widened(self)
    if self.size:
        top = xp.maximum.reduce(xp.real(data), axis=axes, keepdims=True)
        top = xp.where(xp.isfinite(top), top, 0)
    else:
        top = data.dtype.type(0)
    total = xp.asarray(xp.log(sums_of(xp, _exp_apart, axes, data, top)))
    total = total.reshape(kept_shape(self.shape, axes))
    found = xp.asarray(total + top).astype(self.dtype, copy=False)
    return finish(xp, found.squeeze(axes), self.shape, axes, keepdim)


@method(function=True)
@autocasts("logsumexp")
def logsumexp(
    input: Tensor,
    dim: Any = ABSENT,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    axis: Any = ABSENT,
    keepdims: Any = ABSENT,
) -> Tensor:
    """Return the logarithm of the sum of exponentials along dimensions."""
    dim, keepdim = dim_argument(dim, axis, keepdim, keepdims)
    return _logsumexp(input, as_dims(dim, "logsumexp"), keepdim, out=out)


_NO_FREEDOM = (
    "{name}(): degrees of freedom is <= 0. Correction should be strictly less than the "
    "reduction factor (input numel divided by output numel)."
)


def _check(name: str, self: Tensor, dim: Any, correction: Any, _keep: bool) -> None:
    kind = DTYPE_OF[self._data.dtype]
    if not (kind.is_floating_point or kind.is_complex):
        who = name if "_" in name else "std and var"
        raise RuntimeError(f"{who} only support floating point and complex dtypes")
    if count_in(self._data.shape, dim) - _corrected(correction) <= 0:
        warnings.warn(
            _NO_FREEDOM.format(name=name), UserWarning, stacklevel=user_stacklevel()
        )


def _corrected(correction: Any) -> Any:
    return 1 if correction is None else correction


def _freedom(shape: Any, dim: Any, correction: Any) -> Any:
    return max(count_in(tuple(shape), dim) - _corrected(correction), 0)


def _variance(
    xp: Any, self: Any, dim: Any, correction: Any, keep: bool
) -> tuple[Any, Any]:
    """Return the variance and the mean, by two passes."""
    axes = axes_of(dim, self.ndim)
    count = count_in(self.shape, dim)
    data = self.astype(wide(self), copy=False)
    summed = xp.asarray(sums(xp, data, axes))
    centre = summed.reshape(kept_shape(self.shape, axes)) / count
    total = xp.asarray(_squares_apart(xp, data, centre, axes))
    real = self.real.dtype if self.dtype.kind == "c" else self.dtype
    spread = (total / _freedom(self.shape, dim, correction)).astype(real)
    middle = xp.asarray(centre).astype(self.dtype).reshape(spread.shape)
    return (
        finish(xp, spread, self.shape, axes, keep),
        finish(xp, middle, self.shape, axes, keep),
    )


def _squares_apart(xp: Any, data: Any, centre: Any, axes: tuple[int, ...]) -> Any:
    """Sum the squares of what lies between the elements and their mean."""
    if data.dtype.kind == "c":
        return xp.add.reduce(xp.abs(data - centre) ** 2, axis=axes)
    return sums_of(xp, _square_apart, axes, data, centre)


def _square_apart(xp: Any, found: Any, x: Any, centre: Any) -> None:
    xp.subtract(x, centre, found)
    xp.multiply(found, found, found)


def _var_backward(
    F: Any, grad: Any, self: Any, dim: Any, correction: Any, keepdim: bool
) -> Any:
    shape = tuple(self.shape)
    scale = _freedom(shape, dim, correction)
    mean = F.mean(self, dim, True)
    steep = (2.0 / scale if scale else float("inf")) * restored(
        F, grad, shape, dim, keepdim
    )
    if F.raw and want_rows(np, self, mean, steep):
        found = np.empty(shape, self.dtype)
        return in_blocks(np, _times_apart, found, self, mean, steep)
    return steep * (self - mean)


def _times_apart(xp: Any, found: Any, x: Any, mean: Any, steep: Any) -> None:
    xp.subtract(x, mean, found)
    xp.multiply(found, steep, found)


def _std_backward(
    F: Any, grad: Any, self: Any, result: Any, dim: Any, correction: Any, keepdim: bool
) -> Any:
    inner = F.where(result == 0, 0.0, grad / (result * 2))
    return _var_backward(F, inner, self, dim, correction, keepdim)


@hidden_op({"self": _var_backward}, check=_check, name="var", key="_var", out=True)
def _var(xp: Any, self: Array, dim: Any, correction: Any, keepdim: bool) -> Any:
    return _variance(xp, self, dim, correction, keepdim)[0]


@hidden_op({"self": _std_backward}, check=_check, name="std", key="_std", out=True)
def _std(xp: Any, self: Array, dim: Any, correction: Any, keepdim: bool) -> Any:
    return xp.sqrt(_variance(xp, self, dim, correction, keepdim)[0])


def _with_mean(F: Any, into: Any, mean: Any, self: Any, dim: Any, keepdim: bool) -> Any:
    """Add the gradient of the mean to the other one; either may be absent."""
    if mean is None:
        return into
    shape = tuple(self.shape)
    spread = spread_back(F, mean, shape, dim, keepdim) / count_in(shape, dim)
    return spread if into is None else into + spread


def _var_mean_backward(
    F: Any, grad: Any, self: Any, dim: Any, correction: Any, keepdim: bool
) -> Any:
    into = grad[0]
    if into is not None:
        into = _var_backward(F, into, self, dim, correction, keepdim)
    return _with_mean(F, into, grad[1], self, dim, keepdim)


def _std_mean_backward(
    F: Any,
    grad: Any,
    self: Any,
    result0: Any,
    dim: Any,
    correction: Any,
    keepdim: bool,
) -> Any:
    into = grad[0]
    if into is not None:
        into = _std_backward(F, into, self, result0, dim, correction, keepdim)
    return _with_mean(F, into, grad[1], self, dim, keepdim)


_TWO: dict[str, Any] = {
    "outputs": 2,
    "differentiable": (0, 1),
    "check": _check,
    **HIDDEN,
}


@op({"self": _var_mean_backward}, name="var_mean", key="_var_mean", **_TWO)
def _var_mean(xp: Any, self: Array, dim: Any, correction: Any, keepdim: bool) -> Any:
    return _variance(xp, self, dim, correction, keepdim)


@op({"self": _std_mean_backward}, name="std_mean", key="_std_mean", **_TWO)
def _std_mean(xp: Any, self: Array, dim: Any, correction: Any, keepdim: bool) -> Any:
    spread, centre = _variance(xp, self, dim, correction, keepdim)
    return xp.asarray(xp.sqrt(spread)), centre


def _arguments(
    name: str,
    dim: Any,
    unbiased: Any,
    correction: Any,
    keepdim: Any,
    axis: Any,
    keepdims: Any,
) -> tuple[Any, Any, bool]:
    """Sort out the overloads, by (unbiased), (dim, unbiased…) and (dim, correction)."""
    dim, keep = dim_argument(dim, axis, keepdim, keepdims)
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not ABSENT:
        correction = int(as_bool(unbiased, name, "unbiased", 3))
    elif correction is None and dim is not None:
        correction = 1
    return as_dims(dim, name), correction, keep


def _public(name: str, form: Any, says: str, out: bool = True) -> None:
    def statistic(
        input: Tensor,
        dim: Any = None,
        unbiased: Any = ABSENT,
        keepdim: bool = False,
        *,
        correction: Any = None,
        axis: Any = ABSENT,
        keepdims: Any = ABSENT,
        **named: Any,
    ) -> Any:
        values = _arguments(name, dim, unbiased, correction, keepdim, axis, keepdims)
        return form(input, *values, **named)

    statistic.__name__ = statistic.__qualname__ = name
    statistic.__doc__ = says
    method(name, function=True)(statistic)


_public("var", _var, "Return the variance over all or some dimensions.")
_public("std", _std, "Return the standard deviation over all or some dimensions.")
_public("var_mean", _var_mean, "Return (variance, mean) over all or some dimensions.")
_public("std_mean", _std_mean, "Return (deviation, mean) over all or some dimensions.")
