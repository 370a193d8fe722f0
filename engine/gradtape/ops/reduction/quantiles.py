"""Quantiles: what a share of the values lie below."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._autocast.autocast import autocasts
from ..._common.type_name import type_name
from ..._dispatch.declare import FUNCTIONS, method
from ..._tensor.tensor import Tensor
from .._support.arguments import check_tensor, wrap_dim
from .._support.dim_keepdim import numpy_names
from .._support.out_argument import into
from ..creation.from_data import tensor as make_tensor

_WAYS = ("linear", "lower", "higher", "midpoint", "nearest")


_OUT_DTYPE = "quantile() out tensor must be same dtype as the input tensor"


@method(function=True)
@numpy_names
@autocasts("quantile")
def quantile(
    input: Tensor,
    q: Any,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    out: Tensor | None = None,
) -> Tensor:
    """Return the values that shares ``q`` of the elements lie below, along a dimension.

    Several shares make a new first dimension. Rows with NaN give NaN. Raises
    RuntimeError for shares outside [0, 1], and for dtypes other than float and double.

    >>> import gradtape as torch
    >>> torch.quantile(torch.tensor([0.0, 1.0, 2.0]), 0.25)
    tensor(0.5000)
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, out)


@method(function=True)
@numpy_names
@autocasts("nanquantile")
def nanquantile(
    input: Tensor,
    q: Any,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    out: Tensor | None = None,
) -> Tensor:
    """Return quantiles of the elements that are not NaN; see quantile()."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, out)


def _quantile(
    name: str, input: Tensor, q: Any, dim: Any, keepdim: bool, way: str, out: Any
) -> Tensor:
    check_tensor(input, name)
    shares = _shares(name, input, q)
    _check(name, input, shares, way)
    axis = None if dim is None else wrap_dim(dim, input.dim())
    rows = _rows(input, axis, keepdim)
    found = _at_ranks(rows, _ranks(name, rows, shares, way), way)
    if shares.dim():
        found = found.unsqueeze_(0).transpose_(0, -1)
    found = found.squeeze_(-1)
    return into(name, out, (input, shares), lambda: found, _OUT_DTYPE)


def _shares(name: str, input: Tensor, q: Any) -> Tensor:
    if isinstance(q, Tensor):
        return q
    if not isinstance(q, float | int | np.number):
        raise TypeError(
            f"{name}(): argument 'q' (position 2) must be Tensor, not {type_name(q)}"
        )
    if not 0 <= q <= 1:
        raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
    return make_tensor(q, dtype=input.dtype, device=input.device)


def _check(name: str, input: Tensor, q: Tensor, way: str) -> None:
    if not input.numel():
        raise RuntimeError("quantile() input tensor must be non-empty")
    if q.dim() > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if input.dtype.name not in ("float32", "float64"):
        raise RuntimeError(
            "quantile() input tensor must be either float or double dtype"
        )
    if q.dtype is not input.dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    shares = q._data
    if q.numel() and not ((shares >= 0) & (shares <= 1)).all():
        raise RuntimeError("quantile() q values must be in the range [0, 1]")
    if way not in _WAYS:
        raise RuntimeError(
            f"quantile() interpolation must be one of linear, lower, higher, midpoint "
            f"or nearest, but got {way}"
        )


def _rows(input: Tensor, axis: int | None, keepdim: bool) -> Tensor:
    """Return the values sorted, what goes into one quantile in the last dimension."""
    if axis is None:
        rows = input.flatten()
    elif axis == input.dim() - 1:
        rows = input
    else:
        rows = input.unsqueeze(-1).transpose(axis, -1)
    gone = range(input.dim()) if axis is None else (axis,)
    sizes = [1 if d in gone else n for d, n in enumerate(input.shape)]
    left = sizes if keepdim else [n for d, n in enumerate(sizes) if d not in gone]
    return FUNCTIONS["sort"](rows)[0].view((*left, rows.shape[-1]))


def _ranks(name: str, rows: Tensor, q: Tensor, way: str) -> Tensor:
    """Return the place of each quantile in its row, as a number with a fraction."""
    missing = rows.detach().isnan()
    if name == "nanquantile":
        last = (rows.shape[-1] - 1) - missing.sum(-1, keepdim=True)
        ranks = (q * last).clamp(min=0)
    else:
        end = float(rows.shape[-1] - 1)
        ranks = FUNCTIONS["where"](missing.any(-1, keepdim=True), end, q * end)
    shaped = {"lower": "floor", "higher": "ceil", "nearest": "round"}.get(way)
    return ranks if shaped is None else FUNCTIONS[shaped](ranks)


def _at_ranks(rows: Tensor, ranks: Tensor, way: str) -> Tensor:
    below = ranks.long()
    found = rows.gather(-1, below)
    if way not in ("linear", "midpoint"):
        return found
    halves = way == "midpoint"
    weights = FUNCTIONS["full_like"](ranks, 0.5) if halves else ranks - below
    return found.lerp(rows.gather(-1, ranks.ceil().long()), weights)
