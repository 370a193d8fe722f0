"""Variance and standard deviation, alone and with the mean."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..._common.site import user_stacklevel
from ..._dispatch.declare import Array, method, op
from ..._dtypes import DTYPE_OF
from ..._tensor.tensor import Tensor
from .._kernels.blas_sums import sums, sums_of
from .._kernels.cache_blocks import in_blocks, want_rows
from .._support.arguments import as_bool
from .._support.dim_keepdim import ABSENT, dim_argument
from .._support.operands import HIDDEN, hidden_op
from .._support.reduction import (
    as_dims,
    axes_of,
    count_in,
    finish,
    kept_shape,
    restored,
    spread_back,
    wide,
)

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
