"""Sorting and what is told by order: topk, kthvalue, median, mode, quantiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import return_types
from ..._autocast.autocast import autocasts
from ..._common.type_name import type_name
from ..._dispatch.declare import ABSENT, FUNCTIONS, Array, method, op
from ..._dtypes import DTYPE_OF
from ..._tensor.tensor import Tensor
from .._kernels.bitwise_select import check_floating
from .._support.arguments import as_bool, as_integer, check_tensor, wrap_dim
from .._support.new_tensor import array_like
from .._support.operands import HIDDEN, hidden_op, leaves_out, refuses
from .._support.out_argument import SAME_DTYPE, into, with_out
from .._support.reduction import finish, numpy_names, values_of
from .._support.signed import renamed
from ..creation.from_data import tensor as make_tensor
from .min_max import picked_backward

_NAMES = ("values", "indices")
_PICKED: dict[Any, Any] = {
    "self": lambda F, grad, result1, self_shape, dim: picked_backward(
        F, grad, result1, self_shape, dim, True
    )
}
_PICKED_ONE: dict[Any, Any] = {
    "self": lambda F, grad, result1, self_shape, dim, keepdim: picked_backward(
        F, grad, result1, self_shape, dim, keepdim
    )
}


def _sorted_places(xp: Any, self: Any, axis: int, descending: bool) -> Any:
    """Return the places in sorted order, stable; NaN counts as the largest."""
    if self.dtype.kind == "V":  # whose NaN NumPy does not sort to the end
        self = self.astype("float32")
    if not descending:
        return xp.argsort(self, axis=axis, kind="stable")
    backwards = xp.flip(self, axis)
    found = xp.argsort(backwards, axis=axis, kind="stable")
    return self.shape[axis] - 1 - xp.flip(found, axis)


def _take(xp: Any, self: Any, places: Any, axis: int) -> Any:
    values = xp.take_along_axis(self, places, axis)
    return tuple(xp.ascontiguousarray(v) for v in (values, places.astype("int64")))


# ---- sort, argsort ----


def _sort_kernel(xp: Any, self: Array, dim: int, descending: bool) -> Any:
    axis = wrap_dim(dim, self.ndim)
    if self.ndim == 0:
        return self.copy(), xp.zeros((), "int64")
    places = _sorted_places(xp, self, axis, descending)
    values = xp.take_along_axis(self, places, axis)
    found = (values, places.astype("int64", copy=False))
    if self.flags.c_contiguous and self.size and 1 not in self.shape:
        return found
    return tuple(_lying_like(xp, self, each) for each in found)


def _lying_like(xp: Any, self: Any, values: Any) -> Any:
    """Return values in the memory order that a copy of ``self`` would have."""
    found = array_like(xp, self, DTYPE_OF[values.dtype])
    found[...] = values
    return found


_NO_SORT = refuses("c", " Sort does not support complex dtypes on CPU")


def _check_sorted(name: str, self: Tensor, dim: int, *_: Any) -> None:
    wrap_dim(dim, self.dim())
    _NO_SORT(name, self)


_SORT: dict[str, Any] = {
    "name": "sort",
    "outputs": 2,
    "output_names": _NAMES,
    "check": _check_sorted,
    "out": True,
    "out_rule": SAME_DTYPE,
    **HIDDEN,
}
_sort = op(_PICKED, key="_sort", **_SORT)(_sort_kernel)
_sort_stable = op(_PICKED, key="_sort_stable", node="SortBackward1", **_SORT)(
    _sort_kernel
)


@method(function=True)
@numpy_names
def sort(
    input: Tensor,
    dim: int = -1,
    descending: bool = False,
    *,
    stable: bool | None = None,
    out: Any = None,
) -> Any:
    """Return (values, indices) sorted along a dimension. Always stable.

    Errors: IndexError for a dimension the tensor does not have.
    """
    if stable is not None:
        as_bool(stable, "sort", "stable", 2)
    form = _sort if stable is None else _sort_stable
    dim = as_integer(dim, "sort", "dim", 2)
    down = as_bool(descending, "sort", "descending", 3)
    return return_types.sort(form(input, dim, down, out=out))


@method(function=True)
@numpy_names
def argsort(
    input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False
) -> Tensor:
    """Return the indices that sort along a dimension."""
    check_tensor(input, "argsort")
    dim = as_integer(dim, "argsort", "dim", 2)
    as_bool(stable, "argsort", "stable", 2)
    down = as_bool(descending, "argsort", "descending", 3)
    return _sort(input.detach(), dim, down)[1]


@method(function=True)
@with_out(SAME_DTYPE)
def msort(input: Tensor) -> Tensor:
    """Sort along the first dimension."""
    return _sort(input, 0, False)[0]


# ---- topk, kthvalue ----


_NO_TOPK = {
    "b": "topk does not support bool dtypes on CPU",
    "c": " topk does not support complex dtypes on CPU",
}


@hidden_op(
    _PICKED,
    name="topk",
    key="_topk",
    outputs=2,
    output_names=_NAMES,
    out=True,
    out_rule=SAME_DTYPE,
)
def _topk(xp: Any, self: Array, k: int, dim: int, largest: bool) -> Any:
    axis = wrap_dim(dim, self.ndim)
    if self.dtype.kind in "bc":
        raise RuntimeError(_NO_TOPK[self.dtype.kind])
    if not 0 <= k <= (self.shape[axis] if self.ndim else 1):
        raise RuntimeError("selected index k out of range")
    if self.ndim == 0:
        return self.copy(), xp.zeros((), "int64")
    n = self.shape[axis]
    if 0 < k < n // 4:  # part off the k first: sorting everything takes longer
        near = xp.argpartition(self, n - k if largest else k - 1, axis)
        some = xp.arange(n - k, n) if largest else xp.arange(k)
        places = xp.take(near, some, axis)
        values = xp.take_along_axis(self, places, axis)
        order = _sorted_places(xp, values, axis, largest)
        return _take(xp, self, xp.take_along_axis(places, order, axis), axis)
    places = _sorted_places(xp, self, axis, largest)
    return _take(xp, self, xp.take(places, xp.arange(k), axis), axis)


@method(function=True)
@numpy_names
def topk(
    input: Tensor,
    k: int,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,
    *,
    out: Any = None,
) -> Any:
    """Return (values, indices) of the ``k`` largest or smallest, in order."""
    k, dim = as_integer(k, "topk", "k", 1), as_integer(dim, "topk", "dim", 2)
    largest = as_bool(largest, "topk", "largest", 3)
    as_bool(sorted, "topk", "sorted", 4)
    return return_types.topk(_topk(input, k, dim, largest, out=out))


def _one(xp: Any, self: Any, places: Any, axis: int, keepdim: bool) -> Any:
    """Return (values, places) of one place per line of an axis."""
    values = xp.take_along_axis(self, places, axis)
    return tuple(
        finish(xp, v.squeeze(axis), self.shape, (axis,), keepdim)
        for v in (values, places.astype("int64", copy=False))
    )


@hidden_op(
    _PICKED_ONE,
    name="kthvalue",
    key="_kthvalue",
    outputs=2,
    output_names=_NAMES,
    out=True,
    out_rule="output values must be of same type as input",
    recorded="real",
)
def _kthvalue(xp: Any, self: Array, k: int, dim: int, keepdim: bool) -> Any:
    axis = wrap_dim(dim, self.ndim)
    if self.ndim and not self.shape[axis]:
        raise IndexError(
            f"kthvalue(): Expected reduction dim {axis} to have non-zero size."
        )
    if not 1 <= k <= (self.shape[axis] if self.ndim else 1):
        raise RuntimeError(
            f"kthvalue(): selected number k out of range for dimension {axis}"
        )
    if self.ndim == 0:
        return self.copy(), xp.zeros((), "int64")
    check_floating(self, "kthvalue_cpu", "bc")
    places = _sorted_places(xp, self, axis, False)
    return _one(xp, self, xp.take(places, [k - 1], axis), axis, keepdim)


@method(function=True)
@numpy_names
def kthvalue(
    input: Tensor, k: int, dim: int = -1, keepdim: bool = False, *, out: Any = None
) -> Any:
    """Return (value, index) of the k-th smallest element along a dimension."""
    k = as_integer(k, "kthvalue", "k", 1)
    return return_types.kthvalue(_kthvalue(input, k, dim, keepdim, out=out))


# ---- median ----


def _middle(xp: Any, self: Any, axis: int, skip_nan: bool) -> Any:
    """Return the place of the lower median of each line, with its axis kept."""
    n = self.shape[axis]
    places = _sorted_places(xp, self, axis, False)
    if self.dtype.kind not in "fV":
        return xp.take(places, [(n - 1) // 2], axis)
    nans = xp.isnan(self).sum(axis, keepdims=True)
    if skip_nan:
        return xp.take_along_axis(places, xp.maximum((n - nans - 1) // 2, 0), axis)
    # A NaN, sorted behind the numbers, is the median of its line; the first one.
    at = xp.where(nans > 0, n - nans, (n - 1) // 2)
    return xp.take_along_axis(places, at, axis)


def _even(F: Any, grad: Any, self: Any, result: Any) -> Any:
    mask = self == result
    if values_of(self).dtype.kind in "fV":
        mask = mask | (F.isnan(self) & F.isnan(result))
    return mask * (grad / F.sum(mask))


def _declare_median(name: str, skip_nan: bool) -> Any:
    title = name.capitalize()

    def of_all(xp: Any, self: Array) -> Any:
        flat = self.reshape(-1)
        if not flat.size:
            return xp.asarray(xp.nan).astype(self.dtype)
        return flat[_middle(xp, flat, 0, skip_nan)[0]]

    def along(xp: Any, self: Array, dim: int, keepdim: bool) -> Any:
        axis = wrap_dim(dim, self.ndim)
        if self.ndim == 0:
            return self.copy(), xp.zeros((), "int64")
        if not self.shape[axis]:
            raise IndexError(
                f"median(): Expected reduction dim {axis} to have non-zero size."
            )
        return _one(xp, self, _middle(xp, self, axis, skip_nan), axis, keepdim)

    facts: dict[str, Any] = {"name": name, "recorded": "real", **HIDDEN}
    whole_check, check = (
        leaves_out("bc", label, 1) for label in ("median_cpu", "median_out")
    )
    whole = op({"self": _even}, key=f"_{name}_all", check=whole_check, **facts)(of_all)
    by_dim = op(
        _PICKED_ONE,
        key=f"_{name}_dim",
        node=f"{title}Backward1",
        outputs=2,
        output_names=_NAMES,
        out=True,
        check=check,
        **facts,
    )(along)
    kind = getattr(return_types, name)

    def median(
        input: Tensor, dim: Any = ABSENT, keepdim: bool = False, *, out: Any = None
    ) -> Any:
        if dim is ABSENT:
            return whole(input)
        return kind(by_dim(input, as_integer(dim, name, "dim", 2), keepdim, out=out))

    median.__name__ = median.__qualname__ = name
    median.__doc__ = "Return the median, the lower of two; along a dimension, with its "
    median.__doc__ += "place. NaN is stepped over." if skip_nan else "place. NaN wins."
    return method(name, function=True)(numpy_names(median))


median = _declare_median("median", skip_nan=False)
nanmedian = _declare_median("nanmedian", skip_nan=True)


_VALUES_DTYPE = "expected scalar type '{result}' but got '{out}' for {slot} output"


@hidden_op(
    {
        "self": lambda F, grad, result1, self_shape, dim, keepdim: picked_backward(
            F, grad, result1, self_shape, dim, keepdim
        )
    },
    name="mode",
    key="_mode",
    outputs=2,
    output_names=("values", "indices"),
    out=True,
    out_rule=_VALUES_DTYPE,
    family="upcast",
    recorded="real",
)
def _mode(xp: Any, self: Array, dim: int, keepdim: bool) -> Any:
    axis = wrap_dim(dim, self.ndim)
    if self.ndim == 0:
        return self.copy(), xp.zeros((), "int64")
    check_floating(self, "mode_cpu", "c")
    order = xp.argsort(self, axis=axis, kind="stable")
    lines = xp.take_along_axis(self, order, axis)
    n = self.shape[axis]
    steps = xp.arange(n).reshape([-1 if i == axis else 1 for i in range(self.ndim)])
    first = xp.ones(self.shape, bool)
    along = [slice(None)] * self.ndim
    later, earlier = list(along), list(along)
    later[axis], earlier[axis] = slice(1, None), slice(None, -1)
    first[tuple(later)] = lines[tuple(later)] != lines[tuple(earlier)]
    # How far a run of equal elements has come: the longest run ends at the mode.
    run = steps - xp.maximum.accumulate(xp.where(first, steps, 0), axis=axis)
    at = xp.argmax(run, axis=axis, keepdims=True)
    places = xp.take_along_axis(order, at, axis)
    values = xp.take_along_axis(self, places, axis)
    return tuple(
        finish(xp, v.squeeze(axis), self.shape, (axis,), keepdim)
        for v in (values, places.astype("int64", copy=False))
    )


@method(function=True)
@numpy_names
def mode(
    input: Tensor, dim: int = -1, keepdim: bool = False, *, out: Any = None
) -> Any:
    """Return (value, index) of the most frequent element along a dimension.

    Of several, the smallest; its last place.
    """
    return return_types.mode(
        _mode(input, as_integer(dim, "mode", "dim", 2), keepdim, out=out)
    )


_WAYS = ("linear", "lower", "higher", "midpoint", "nearest")


_OUT_DTYPE = "quantile() out tensor must be same dtype as the input tensor"


def _quantile(name: str, doc: str) -> Callable[..., Tensor]:
    @method(function=True)
    @numpy_names
    @autocasts(name)
    @renamed(name, doc)
    def quantile(
        input: Tensor,
        q: Any,
        dim: int | None = None,
        keepdim: bool = False,
        *,
        interpolation: str = "linear",
        out: Tensor | None = None,
    ) -> Tensor:
        check_tensor(input, name)
        shares = _shares(name, input, q)
        _check(name, input, shares, interpolation)
        axis = None if dim is None else wrap_dim(dim, input.dim())
        rows = _rows(input, axis, keepdim)
        ranks = _ranks(name, rows, shares, interpolation)
        found = _at_ranks(rows, ranks, interpolation)
        if shares.dim():
            found = found.unsqueeze_(0).transpose_(0, -1)
        found = found.squeeze_(-1)
        return into(name, out, (input, shares), lambda: found, _OUT_DTYPE)

    return quantile


quantile = _quantile(
    "quantile",
    """Return the values that shares ``q`` of the elements lie below, along a dimension.

    Several shares make a new first dimension. Rows with NaN give NaN. Raises
    RuntimeError for shares outside [0, 1], and for dtypes other than float and double.

    >>> import gradtape as torch
    >>> torch.quantile(torch.tensor([0.0, 1.0, 2.0]), 0.25)
    tensor(0.5000)
    """,
)
nanquantile = _quantile(
    "nanquantile", "Return quantiles of the elements that are not NaN; see quantile()."
)


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
    return found.lerp_(rows.gather(-1, ranks.ceil().long()), weights)
