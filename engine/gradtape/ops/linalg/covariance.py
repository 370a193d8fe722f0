"""Covariance and the trapezoid rule, composed as PyTorch composes them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..._common.site import user_stacklevel
from ..._common.type_name import type_name
from ..._dispatch.declare import ABSENT, FUNCTIONS, method, public
from ..._dtypes import bool_, get_default_dtype
from ..._tensor.tensor import Tensor
from .._support.arguments import check_tensor, wrap_dim
from .._support.reduction import numpy_names
from ..pointwise.scalar import div_number, mul_number
from .matmul import mm

_FREEDOM = (
    "cov(): degrees of freedom is <= 0. Correction should be strictly less than the "
    "number of observations."
)


@method(function=True)
def cov(
    input: Tensor,
    *,
    correction: int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """Return the covariances of variables, the rows; columns are observations.

    ``fweights`` says how often each observation counts, ``aweights`` how much. Sums
    are divided by the number of observations less ``correction``.

    >>> import gradtape as torch
    >>> torch.cov(torch.tensor([[0.0, 2.0], [1.0, 3.0]]))
    tensor([[2., 2.],
            [2., 2.]])
    """
    check_tensor(input, "cov")
    if input.dim() > 2:
        raise RuntimeError(
            "cov(): expected input to have two or fewer dimensions but got an input "
            f"with {input.dim()} dimensions"
        )
    if input._data.dtype.kind == "b":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    values = input.view((1, -1)) if input.dim() < 2 else input
    count = values.shape[1]
    weights = _weights(fweights, aweights, count)
    if weights is None:
        total = FUNCTIONS["tensor"](count, device=input.device)
        mean = values.sum(1) / total
    else:
        total = weights.sum()
        if not total.item():
            raise RuntimeError("cov(): weights sum to zero, can't be normalized")
        mean = (values * weights).sum(1) / total
    freedom = _freedom(total, weights, aweights, correction)
    values = values - mean.unsqueeze(1)
    weighted = values if weights is None else values * weights
    return (mm(values, weighted.t().conj()) / freedom).squeeze()


def _weights(fweights: Any, aweights: Any, count: int) -> Tensor | None:
    kinds = {
        "fweights": (fweights, "iu", "integral"),
        "aweights": (aweights, "fV", "floating point"),
    }
    for name, (given, kind, meant) in kinds.items():
        if given is None:
            continue
        if given.dim() > 1:
            raise RuntimeError(
                f"cov(): expected {name} to have one or fewer dimensions but got "
                f"{name} with {given.dim()} dimensions"
            )
        if given._data.dtype.kind not in kind:
            raise RuntimeError(
                f"cov(): expected {name} to have {meant} dtype but got {name} with "
                f"{given.dtype.cpp_name} dtype"
            )
        if given.numel() != count:
            raise RuntimeError(
                f"cov(): expected {name} to have the same numel as there are "
                f"observations in the input but got {given.numel()} != {count}"
            )
        if count and (given._data.min() < 0):
            raise RuntimeError(f"cov(): {name} cannot be negative")
    if fweights is None or aweights is None:
        return aweights if fweights is None else fweights
    return fweights * aweights


def _freedom(total: Tensor, weights: Any, aweights: Any, correction: int) -> Tensor:
    """Return what the sums are divided by; zero where that would be negative."""
    if weights is not None and aweights is not None and correction != 0:
        found = total - correction * (weights * aweights).sum() / total
    else:
        found = total - correction
    if found.item() <= 0:
        warnings.warn(_FREEDOM, UserWarning, stacklevel=user_stacklevel())
        found = FUNCTIONS["zeros_like"](found)
    return found


@method(function=True)
def corrcoef(input: Tensor) -> Tensor:
    """Return the correlations of variables, the rows, between -1 and 1.

    >>> import gradtape as torch
    >>> torch.corrcoef(torch.tensor([[0.0, 1.0], [3.0, 2.0]])).round()
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    check_tensor(input, "corrcoef")
    if input.dim() > 2:
        raise RuntimeError(
            "corrcoef(): expected input to have two or fewer dimensions but got an "
            f"input with {input.dim()} dimensions"
        )
    found = cov(input)
    if found.dim() == 0:
        return found / found
    spread = found.diagonal()
    spread = (FUNCTIONS["real"](spread) if spread.is_complex() else spread).sqrt()
    found = found / spread.view((-1, 1))
    found = found / spread.view((1, -1))
    if not found.is_complex():
        return found.clip(-1, 1)
    parts = (FUNCTIONS[part](found).clip(-1, 1) for part in ("real", "imag"))
    return FUNCTIONS["complex"](*parts)


# ---- the trapezoid rule ------------------------------------------------------------

_FORMS = """{name}() received an invalid combination of arguments - got (Tensor, \
{x}dx={kind}), but expected one of:
 * (Tensor y, Tensor x, *, int dim = -1)
 * (Tensor y, *, Number dx = 1, int dim = -1)
"""


def _halves(y: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Return all but the last, and all but the first, along a dimension."""
    if not y.dim():
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    size = y.shape[wrap_dim(dim, y.dim())]
    length = max(size - 1, 0)
    return y.narrow(dim, 0, length), y.narrow(dim, min(1, size), length)


def _steps(name: str, y: Tensor, x: Tensor, axis: int) -> Tensor:
    """Return the distances between neighbouring sample points."""
    if x.dim() == 1:
        if x.shape[0] != y.shape[axis]:
            raise RuntimeError(
                f"{name}: There must be one `x` value for each sample point"
            )
        shape = [1] * y.dim()
        shape[axis] = x.shape[0]
        x = x.view(tuple(shape))
    elif x.dim() < y.dim():
        x = x.view((1,) * (y.dim() - x.dim()) + tuple(x.shape))
    left, right = _halves(x, axis)
    return right - left


def _check_samples(name: str, y: Any, x: Any, dx: Any) -> None:
    check_tensor(y, name, "y")
    number = isinstance(dx, int | float | complex | np.generic | Tensor)
    if dx is not ABSENT and (x is not None or not number):
        given = "" if x is None else "Tensor, "
        raise TypeError(_FORMS.format(name=name, x=given, kind=type_name(dx)))
    if isinstance(dx, complex | np.complexfloating):
        raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")
    for label, given in (("y", y), ("x", x)):
        if given is not None and check_tensor(given, name, label, 2).dtype is bool_:
            raise RuntimeError(
                f"{name}: received a bool input for `{label}`, but bool is not "
                "supported"
            )


@public
@numpy_names
def trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: Any = ABSENT, dim: int = -1
) -> Tensor:
    """Return integrals along ``dim`` by the trapezoid rule.

    Sample points are ``x``, or a distance ``dx`` (1 by default) apart.

    >>> import gradtape as torch
    >>> torch.trapezoid(torch.tensor([1.0, 2.0, 3.0]))
    tensor(4.)
    """
    return _trapezoid("trapezoid", y, x, dx, dim)


def _trapezoid(name: str, y: Any, x: Any, dx: Any, dim: int) -> Tensor:
    _check_samples(name, y, x, dx)
    if not y.dim():
        wrap_dim(dim, 0)
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    axis = wrap_dim(dim, y.dim())
    if not y.shape[axis]:
        shape = [n for i, n in enumerate(y.shape) if i != axis]
        return FUNCTIONS["zeros"](shape, dtype=y.dtype, device=y.device)
    if x is not None:
        steps = _steps(name, y, x, axis)
        left, right = _halves(y, axis)
        return div_number(_inexact(((left + right) * steps).sum(axis)), 2.0)
    ends = y.select(dim, 0) + y.select(dim, -1)
    scale = 1.0 if dx is ABSENT else dx
    return mul_number(y.sum(dim) - mul_number(_inexact(ends), 0.5), scale)


def _inexact(tensor: Tensor) -> Tensor:
    """Return integers in the default float type, in which numbers multiply them."""
    return tensor.to(get_default_dtype()) if tensor._data.dtype.kind in "iu" else tensor


@public
def trapz(
    y: Tensor, x: Tensor | None = None, *, dx: Any = ABSENT, dim: int = -1
) -> Tensor:
    """Return integrals along ``dim``: the older name of :func:`trapezoid`."""
    return _trapezoid("trapezoid", y, x, dx, dim)


@public
@numpy_names
def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: Any = ABSENT, dim: int = -1
) -> Tensor:
    """Return the integrals up to each sample point but the first.

    >>> import gradtape as torch
    >>> torch.cumulative_trapezoid(torch.tensor([1.0, 2.0, 3.0]))
    tensor([1.5000, 4.0000])
    """
    name = "cumulative_trapezoid"
    _check_samples(name, y, x, dx)
    if x is not None:
        axis = wrap_dim(dim, y.dim())  # in x, which may have more dimensions, too
        steps = _steps(name, y, x, axis)
        left, right = _halves(y, axis)
        return div_number(_inexact(((left + right) * steps).cumsum(axis)), 2.0)
    left, right = _halves(y, dim)
    scale = 1.0 if dx is ABSENT else dx
    return mul_number(_inexact(left + right), scale / 2.0).cumsum(dim)
