"""Counting values into bins: bincount, histc, histogram, histogramdd."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, nan, prod
from typing import Any

from ... import return_types
from ..._backend import backend_of
from ..._common.type_name import type_name
from ..._dispatch.declare import FUNCTIONS, method, public
from ..._dispatch.out_checks import refusal
from ..._dtypes import DTYPE_OF
from ..._modes.grad_mode import mode
from ..._tensor.tensor import Tensor, wrap
from .._support.arguments import as_integer, check_tensor, is_integer
from .._support.operands import c_name, not_implemented
from .._support.out_argument import handed_over

_HIST_DTYPE = (
    "torch.histogram: input tensor and hist tensor should have the same dtype, but got "
    "input {wanted} and hist {given}"
)
_EDGES_DTYPE = (
    "torch.histogram: input tensor and bin_edges tensor should have the same dtype, "
    "but got input {wanted} and bin_edges {given} for dimension 0"
)
_FORMS = """\
histogram() received an invalid combination of arguments - got (Tensor, {}), but \
expected one of:
 * (Tensor input, Tensor bins, *, Tensor weight = None, bool density = False, tuple of \
Tensors out = None)
 * (Tensor input, int bins = 100, *, tuple of floats range = None, Tensor weight = \
None, bool density = False, tuple of Tensors out = None)
"""


@method(function=True)
def bincount(
    input: Tensor, weights: Tensor | None = None, minlength: int = 0
) -> Tensor:
    """Count how often each number occurs; or add up the weights of its places.

    >>> import gradtape as torch
    >>> torch.bincount(torch.tensor([1, 1, 3]))
    tensor([0, 2, 0, 1])
    """
    values = check_tensor(input, "bincount")._data
    if values.dtype.kind not in "iu":
        raise not_implemented("bincount_cpu", input)
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if values.ndim != 1 or (values.size and values.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None and tuple(weights.shape) != values.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    xp = backend_of(values).xp
    if weights is None or not values.size:
        return wrap(xp.bincount(values.astype(xp.int64), minlength=minlength))
    found = xp.bincount(
        values.astype(xp.int64), weights._data.astype(xp.float64), minlength
    )
    single = weights.dtype.name == "float32"
    return wrap(found.astype(xp.float32) if single else found)


# ---- histograms ----


def _span(name: str, xp: Any, values: Any, low: float, high: float) -> Any:
    """Return the ends of a histogram: the data's own where both are given alike."""
    sign = ""
    if low == high and values.size:
        low, high, sign = float(values.min()), float(values.max()), "-"
    if not (isfinite(low) and isfinite(high)):  # found in the data, NaN has a sign
        ends = ", ".join(f"{v:g}" if v == v else f"{sign}nan" for v in (low, high))
        raise RuntimeError(f"{name}: range of [{ends}] is not finite")
    return (low - 1, high + 1) if low == high else (low, high)


def _check_bins(bins: int, dim: int = 0) -> None:
    if bins <= 0:
        raise RuntimeError(
            f"torch.histogram(): bins must be > 0, but got {bins} for dimension {dim}"
        )


def _check_edges(edges: Tensor, dim: int) -> None:
    for count, unit, wrong, sentence in (
        (edges.dim(), "dimensions", edges.dim() != 1, "have one dimension"),
        (edges.numel(), "elements", not edges.numel(), "have at least 1 element"),
    ):
        if wrong:
            raise RuntimeError(
                f"torch.histogramdd: bins tensor should {sentence}, but got {count} "
                f"{unit} in the bins tensor for dimension {dim}"
            )
    _check_bins(edges.numel() - 1, dim)


@method(function=True)
def histc(
    input: Tensor,
    bins: int = 100,
    min: float = 0,
    max: float = 0,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Count the elements in ``bins`` equal intervals between ``min`` and ``max``.

    Where both are 0 the elements' own extremes are the ends. Raises RuntimeError for
    ends that are not finite or the wrong way round.

    >>> import gradtape as torch
    >>> torch.histc(torch.tensor([1.0, 2.0, 1.0]), 4, 0, 3)
    tensor([0., 2., 1., 0.])
    """
    values = check_tensor(input, "histc")._data
    bins = as_integer(bins, "histc", "bins", 2)
    min, max = (v.item() if isinstance(v, Tensor) else v for v in (min, max))
    _check_bins(bins)
    if min > max:
        raise RuntimeError("torch.histc: max must be larger than min")
    if values.dtype.kind not in "fV":
        lacks = "linspace_cpu" if values.dtype.kind == "b" else "histogram_cpu"
        raise not_implemented(lacks, input)
    xp = backend_of(values).xp
    ends = mode.run(_span, "torch.histc", xp, values, float(min), float(max))
    found = mode.run(_counted, xp, values.reshape(-1), bins, ends)
    return handed_over("histc", found.astype(values.dtype), out, _HIST_DTYPE)


def _counted(xp: Any, values: Any, bins: int, ends: tuple[float, float]) -> Any:
    low, high = ends
    inside = values[(values >= low) & (values <= high)]
    at = ((inside - low) * (bins / (high - low))).astype(xp.int64)
    return xp.bincount(xp.minimum(at, bins - 1), minlength=bins)


@method(function=True)
def histogram(
    input: Tensor,
    bins: Any = 100,
    *,
    range: Any = None,
    weight: Tensor | None = None,
    density: bool = False,
    out: Any = None,
) -> Any:
    """Return (hist, bin_edges) of all elements: how many lie between the edges.

    ``bins`` is a number of equal bins, or a tensor with the edges.
    """
    flat = check_tensor(input, "histogram").reshape(-1, 1)
    wide = None if weight is None else weight.reshape(-1)
    if (
        weight is not None
        and weight.dtype is input.dtype
        and weight.shape != input.shape
    ):
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same "
            "shape as the input tensor excluding its innermost dimension, but got "
            f"input with shape {list(flat.shape)} and weight with shape "
            f"{list(weight.shape)}"
        )
    edged = isinstance(bins, Tensor)
    if range is not None if edged else not is_integer(bins):
        got = "Tensor" if edged else type_name(bins)
        span = "" if range is None else f", range={type_name(range)}"
        raise TypeError(_FORMS.format(got + span))
    if edged and input._data.dtype.kind in "biuc":
        raise not_implemented("histogram_cpu", input)
    given = [bins] if edged else [int(bins)]
    hist, edges = histogramdd(flat, given, range=range, weight=wide, density=density)
    if out is not None:
        if mode.grad and any(target.requires_grad for target in out):
            raise refusal("histogram")
        triples = zip((hist, edges[0]), out, (_HIST_DTYPE, _EDGES_DTYPE), strict=True)
        for found, target, rule in triples:
            handed_over("histogram", found._data, target, rule)
        return return_types.histogram(return_types.Outputs(out))
    return return_types.histogram((hist, edges[0]))


@public
def histogramdd(
    input: Tensor,
    bins: Any,
    range: Any = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """Return (hist, bin_edges) of points, whose coordinates are in the last dimension.

    ``bins`` is one number, a number per dimension, or a tensor of edges for each.
    """
    check_tensor(input, "histogramdd")
    points = input._data
    spaced = is_integer(bins) or not isinstance(next(iter(bins), None), Tensor)
    if points.dtype.kind not in "fV" or (spaced and points.dtype.itemsize == 2):
        raise not_implemented("histogramdd", input)
    count = points.shape[-1]
    wanted: Sequence[Any] = [int(bins)] * count if is_integer(bins) else list(bins)
    if len(wanted) != count:
        raise RuntimeError(
            "histogramdd: The size of bins must be equal to the innermost dimension of "
            "the input."
        )
    if weight is not None and weight.dtype is not input.dtype:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight "
            f"tensor should have the same dtype, but got input({c_name(input)}), and "
            f"weight({c_name(weight)})"
        )
    xp = backend_of(points).xp
    if not count:
        nothing = wrap(xp.full((), nan if density else 0.0, points.dtype))
        return return_types.histogramdd((nothing, ()))
    flat = points.reshape(-1, count)
    edges = [
        _edges(input, flat[:, i], each, i, range, count)
        for i, each in enumerate(wanted)
    ]
    weights = None if weight is None else weight._data.reshape(-1)
    hist = mode.run(_binned, xp, flat, edges, weights).astype(points.dtype)
    if density:
        hist = mode.run(_as_density, xp, hist, edges)
    kinds = return_types.histogramdd
    return kinds((wrap(xp.ascontiguousarray(hist)), tuple(wrap(e) for e in edges)))


def _edges(
    input: Tensor, values: Any, bins: Any, dim: int, range: Any, count: int
) -> Any:
    xp = backend_of(values).xp
    if isinstance(bins, Tensor):
        if bins.dtype is not input.dtype:
            raise RuntimeError(
                "torch.histogramdd: input tensor and bins tensors should have the same "
                f"dtype, but got input with dtype {c_name(input)} and bins for "
                f"dimension {dim} with dtype {c_name(bins)}"
            )
        _check_edges(bins, dim)
        return bins._data.copy()
    _check_bins(bins, dim)
    low, high = 0.0, 0.0
    if range is not None:
        low, high = (float(v) for v in range[2 * dim : 2 * dim + 2])
        if low > high:
            raise RuntimeError(
                f"torch.histogramdd: min should not exceed max, but got min {low:g} "
                f"max {high:g} for dimension {dim}"
            )
    elif values.size:
        low, high = float(values.min()), float(values.max())
    else:
        low, high = 0.0, 1.0
    if not (isfinite(low) and isfinite(high)):
        raise RuntimeError(
            f"torch.histogramdd: dimension {dim}'s range [{low:g}, {high:g}] is "
            "not finite"
        )
    if low == high:
        low, high = low - 0.5, high + 0.5
    return xp.linspace(low, high, bins + 1).astype(values.dtype)


def _binned(xp: Any, points: Any, edges: list[Any], weights: Any) -> Any:
    """Count points into boxes; the last edge of every dimension belongs to a bin."""
    shape = tuple(len(e) - 1 for e in edges)
    inside = xp.ones(len(points), bool)
    place = xp.zeros(len(points), xp.int64)
    for i, edge in enumerate(edges):
        values = points[:, i]
        inside &= (values >= edge[0]) & (values <= edge[-1])
        at = xp.searchsorted(edge, values, side="right") - 1
        place = place * shape[i] + xp.clip(at, 0, shape[i] - 1)
    size = 1
    for length in shape:
        size *= length
    chosen = None if weights is None else weights[inside].astype(xp.float64)
    return xp.bincount(place[inside], chosen, size).reshape(shape)


def _as_density(xp: Any, hist: Any, edges: list[Any]) -> Any:
    found = hist / hist.sum()
    for i, edge in enumerate(edges):
        widths = xp.diff(edge)
        found = found / widths.reshape([-1 if d == i else 1 for d in range(hist.ndim)])
    return found.astype(hist.dtype)


# ---- where ----


@method(function=True)
def nonzero_static(
    input: Tensor, *, size: int, fill_value: int = -1, out: Tensor | None = None
) -> Tensor:
    """Return the places of the first ``size`` nonzero elements, filled up if fewer."""
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    found = FUNCTIONS["nonzero"](input)._data[:size]
    xp = backend_of(found).xp
    whole = xp.full((size, input.dim()), fill_value, xp.int64)
    whole[: len(found)] = found
    return handed_over("nonzero_static", whole, out, _NOT_LONG)


_NOT_LONG = (
    "nonzero_static: Expected out tensor to have scalar type {result} but got scalar "
    "type{out}"
)


def _coordinates(shape: Any) -> tuple[int, ...]:
    if is_integer(shape):
        return (int(shape),)
    if not isinstance(shape, Sequence):
        raise TypeError(
            f"expected 'shape' to be int or sequence of ints, but got {type(shape)}"
        )
    for each in shape:
        if not is_integer(each):
            raise TypeError(
                f"expected 'shape' sequence to only contain ints, but got {type(each)}"
            )
    return tuple(int(each) for each in shape)


@public
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Return the coordinates, one tensor per dimension, of places in a flat array.

    >>> import gradtape as torch
    >>> torch.unravel_index(torch.tensor([3, 5]), (2, 3))
    (tensor([1, 1]), tensor([0, 2]))
    """
    kind = DTYPE_OF[indices._data.dtype]
    if kind.numpy.kind not in "iu":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {kind}")
    wanted = _coordinates(shape)
    if any(n < 0 for n in wanted):
        raise ValueError(f"'shape' cannot have negative values, but got {wanted}")
    if 0 in wanted and indices.numel():
        raise RuntimeError("ZeroDivisionError")
    xp = backend_of(indices._data).xp
    steps = [prod(wanted[i + 1 :]) for i in range(len(wanted))]
    places = indices._data[..., None] // xp.asarray(steps, xp.int64)
    found = wrap(places % xp.asarray(wanted, xp.int64))
    return FUNCTIONS["unbind"](found, -1)
