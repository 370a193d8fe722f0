"""Reductions over segments of a dimension, given by their lengths or their ends."""

from __future__ import annotations

from math import prod
from typing import Any

from ..._backend import backend_of
from ..._dispatch.declare import FUNCTIONS, Array, public
from ..._tensor.tensor import Tensor
from .._support.arguments import wrap_dim
from .._support.operands import UNDERIVED, hidden_op, not_implemented, underived

Sizes = tuple[int, ...]

_UFUNC = {
    "sum": "add",
    "mean": "add",
    "prod": "multiply",
    "max": "maximum",
    "min": "minimum",
}
_NAMES = {
    **dict.fromkeys(("max", "amax"), "max"),
    **dict.fromkeys(("min", "amin"), "min"),
}
_START = {"sum": 0, "mean": 0, "prod": 1}


def _ids(xp: Any, bounds: Any, size: int) -> tuple[Any, Any]:
    """Return the row and the segment of each element, and which lie in any segment.

    ``bounds`` is (rows, segments + 1): where segments begin, and the last one ends.
    """
    places = xp.arange(size)
    segments = (places[None, :, None] >= bounds[:, None, 1:]).sum(-1)
    inside = (places >= bounds[:, :1]) & (segments < bounds.shape[1] - 1)
    rows, at = xp.nonzero(inside)
    return (rows, segments[rows, at]), (rows, at)


def _shaped(self: Any, bounds: Any, axis: int) -> tuple[Any, Sizes, Sizes]:
    """Return bounds as rows, the data's shape (rows, size, rest), the result's."""
    rows = bounds.reshape(prod(bounds.shape[:-1]), bounds.shape[-1])
    before, after = self.shape[:axis], self.shape[axis + 1 :]
    shape = (*before, bounds.shape[-1] - 1, *after)
    return rows, (prod(before), self.shape[axis], prod(after)), shape


def _reduced(
    xp: Any, data: Any, rows: Any, reduce: str, start: float
) -> tuple[Any, Any, Any]:
    into, taken = _ids(xp, rows, data.shape[1])
    shape = (rows.shape[0], rows.shape[1] - 1, data.shape[2])
    found = xp.full(shape, start, data.dtype)
    getattr(xp, _UFUNC[reduce]).at(found, into, data[taken])
    return found, into, taken


@hidden_op(
    {
        "data": lambda F, grad, data, result, bounds, reduce, axis, initial: (
            F._segment_reduce_backward(
                grad, data, result, bounds, reduce, axis, initial
            )
        )
    },
    name="segment_reduce",
    key="_segment_reduce",
)
def _segment_reduce(
    xp: Any, data: Array, bounds: Any, reduce: str, axis: int, initial: float | None
) -> Any:
    rows, view, shape = _shaped(data, bounds, axis)
    flat = xp.ascontiguousarray(data).reshape(view)
    start = _start(reduce, initial)
    found, _, _ = _reduced(xp, flat, rows, reduce, start)
    if reduce == "mean":
        counts = (rows[:, 1:] - rows[:, :-1])[..., None].astype(found.dtype)
        filled = xp.where(counts > 0, counts, 1 if initial is not None else 0)
        found = found / filled
    return found.reshape(shape)


def _start(reduce: str, initial: float | None) -> float:
    if initial is not None:
        return initial
    return _START.get(reduce, float("-inf") if reduce == "max" else float("inf"))


@hidden_op(
    underived("_segment_reduce_backward", "grad", "data", "output"), node=UNDERIVED
)
def _segment_reduce_backward(
    xp: Any,
    grad: Array,
    data: Array,
    output: Array,
    bounds: Any,
    reduce: str,
    axis: int,
    initial: float | None,
) -> Any:
    """Return the gradient of the data: shared by equals for max and min."""
    rows, view, shape = _shaped(data, bounds, axis)
    flat = xp.ascontiguousarray(data).reshape(view)
    wide = (view[0], shape[axis], view[2])
    share, result = grad.reshape(wide), output.reshape(wide)
    into, taken = _ids(xp, rows, flat.shape[1])
    values, found = flat[taken], xp.zeros(flat.shape, flat.dtype)
    if reduce == "sum":
        found[taken] = share[into]
    elif reduce == "mean":
        counts = (rows[:, 1:] - rows[:, :-1])[..., None].astype(flat.dtype)
        found[taken] = (share / xp.where(counts > 0, counts, 1))[into]
    elif reduce == "prod":
        found[taken] = share[into] * _others(
            xp, flat, rows, values, into, taken, initial
        )
    else:
        chosen = (values == result[into]) | xp.isnan(values)
        equals = xp.zeros(result.shape, flat.dtype)
        xp.add.at(equals, into, chosen.astype(flat.dtype))
        found[taken] = xp.where(chosen, share[into] / xp.maximum(equals[into], 1), 0)
    return found.reshape(data.shape)


def _others(
    xp: Any, flat: Any, rows: Any, values: Any, into: Any, taken: Any, initial: Any
) -> Any:
    """Return, for each element, the product of the others of its segment."""
    zero, nan = values == 0, xp.isnan(values)
    solid = flat.copy()
    solid[taken] = xp.where(zero | nan, 1, values)
    product, _, _ = _reduced(xp, solid, rows, "prod", _start("prod", initial))

    def among_others(marked: Any) -> Any:
        counts = xp.zeros(product.shape, "int64")
        xp.add.at(counts, into, marked.astype("int64"))
        return counts[into] > marked

    found = xp.where(among_others(zero), 0, product[into] / solid[taken])
    return xp.where(among_others(nan), float("nan"), found)


@public
def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Tensor:
    """Reduce segments of a dimension by "sum", "mean", "max", "min" or "prod".

    ``lengths`` or ``offsets`` are of shape ``data.shape[:axis] + (segments,)``;
    offsets have one more, the end. Raises RuntimeError where they do not fit.

    >>> import gradtape as torch
    >>> x = torch.tensor([1.0, 2.0, 3.0])
    >>> torch.segment_reduce(x, "sum", lengths=torch.tensor([1, 2]))
    tensor([1., 5.])
    """
    kind = _NAMES.get(reduce, reduce)
    if kind not in _UFUNC:
        raise RuntimeError(
            "reduce argument must be either sum, prod, mean, amax or amin, got "
            f"{reduce}"
        )
    if indices is not None:
        raise RuntimeError(
            "segment_reduce(): indices based reduction is not supported yet."
        )
    given = offsets if offsets is not None else lengths
    if given is None:
        raise RuntimeError(
            "segment_reduce(): Either lengths or offsets must be defined."
        )
    if not data.is_floating_point():
        raise not_implemented("_segment_reduce_cpu", data)
    axis = wrap_dim(axis, data.dim())
    if axis != given.dim() - 1:
        raise RuntimeError(
            "segment_reduce(): Expected axis to be the last dimension of lengths but "
            f"got {axis}."
        )
    bounds = given._data if offsets is not None else _bounds(data, given, axis, unsafe)
    return _segment_reduce(data, bounds, kind, axis, initial)


FUNCTIONS["_segment_reduce"] = segment_reduce


def _bounds(data: Tensor, lengths: Tensor, axis: int, unsafe: bool) -> Any:
    """Return where segments begin and end, from their lengths."""
    counts = lengths._data
    if not unsafe:
        if counts.size and counts.min() < 0:
            raise RuntimeError("lengths contains negative value!")
        if (counts.sum(-1) != data.shape[axis]).any():
            raise RuntimeError(
                "segment_reduce(): Expected all rows of lengths along axis to sum to "
                "data.size(lengths.dim()-1) when !unsafe."
            )
    ends = counts.cumsum(-1)
    begins = ends[..., :1] - counts[..., :1]
    return backend_of(counts).xp.concatenate([begins, ends], -1)
