"""The different elements of a tensor: all of them, or runs of them."""

from __future__ import annotations

from typing import Any

from ..._dispatch.declare import FUNCTIONS, Array, method, op, public
from ..._modes.grad_mode import mode
from ..._tensor.tensor import Tensor
from .._kernels.introsort import introsort
from .._support.arguments import as_bool, check_tensor, wrap_dim
from .._support.new_tensor import row_major
from .._support.operands import HIDDEN, not_implemented


def _refuse(name: str) -> Any:
    def refuse(F: Any, grad: Any) -> Any:
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    return {"self": refuse}


def _facts(name: str) -> dict[str, Any]:
    return {**HIDDEN, "outputs": 3, "node": name}


def _found(xp: Any, values: Any, first: Any, inverse: Any) -> Any:
    """Return (values, inverse, counts), given where each run of equals begins."""
    counts = xp.bincount(inverse.reshape(-1), minlength=len(first))
    return values, inverse.astype(xp.int64), counts.astype(xp.int64)


@op(_refuse("_unique2"), **_facts("Unique2Backward0"), family="upcast")
def _unique2(xp: Any, self: Array) -> Any:
    """Return (sorted elements, where each went, how many of each); NaN is alone."""
    flat = self.reshape(-1)
    order = xp.argsort(flat, kind="stable")
    ordered = flat[order]
    new = xp.ones(flat.shape, bool)
    new[1:] = ordered[1:] != ordered[:-1]
    inverse = xp.empty(flat.shape, xp.int64)
    inverse[order] = xp.cumsum(new) - 1
    first = xp.nonzero(new)[0]
    return _found(xp, ordered[first], first, inverse.reshape(self.shape))


@op(
    _refuse("unique_consecutive"),
    **_facts("UniqueConsecutiveBackward0"),
    family="upcast",
)
def _unique_consecutive(xp: Any, self: Array) -> Any:
    """Return (first of each run of equal elements, which run, how long)."""
    flat = self.reshape(-1)
    new = xp.ones(flat.shape, bool)
    new[1:] = flat[1:] != flat[:-1]
    first = xp.nonzero(new)[0]
    inverse = (xp.cumsum(new) - 1).reshape(self.shape)
    return _found(xp, flat[first], first, inverse)


def _slices(xp: Any, self: Any, dim: int) -> Any:
    """Return the slices along a dimension as rows."""
    front = xp.moveaxis(self, dim, 0)
    width = self.size // max(len(front), 1)
    return xp.ascontiguousarray(front).reshape(len(front), width)


def _of_slices(xp: Any, self: Any, dim: int, order: Any, rows: Any) -> Any:
    new = xp.ones(len(rows), bool)
    new[1:] = (rows[1:] != rows[:-1]).any(1)
    first = xp.nonzero(new)[0]
    inverse = xp.empty(len(rows), xp.int64)
    inverse[order] = xp.cumsum(new) - 1
    front = xp.ascontiguousarray(xp.moveaxis(self, dim, 0))
    chosen = row_major(xp, front[order[first]])
    values = xp.moveaxis(chosen, 0, dim)  # as PyTorch leaves them
    return _found(xp, values, first, inverse)


def _order(xp: Any, rows: Any) -> Any:
    """Return the order of rows by their first difference; NaN is no difference."""
    if rows.dtype.kind not in "fV" or not xp.isnan(rows).any():
        return xp.lexsort(rows.T[::-1])
    values, order = rows.tolist(), list(range(len(rows)))

    def less(a: int, b: int) -> bool:
        for x, y in zip(values[a], values[b], strict=True):
            if x != y and x == x and y == y:
                return x < y
        return False

    introsort(order, less)
    return xp.asarray(order)


@op(_refuse("unique_dim"), **_facts("UniqueDimBackward0"), family="upcast")
def _unique_dim(xp: Any, self: Array, dim: int) -> Any:
    """Return the different slices along a dimension, in order."""
    rows = _slices(xp, self, dim)
    if not len(rows) or not rows.shape[1]:
        order = xp.arange(len(rows))
    else:
        order = _order(xp, rows)
    return _of_slices(xp, self, dim, order, rows[order])


@op(
    _refuse("unique_consecutive"),
    **_facts("UniqueConsecutiveBackward0"),
    family="upcast",
)
def _unique_dim_consecutive(xp: Any, self: Array, dim: int) -> Any:
    """Return the first slice of each run of equal slices along a dimension."""
    rows = _slices(xp, self, dim)
    return _of_slices(xp, self, dim, xp.arange(len(rows)), rows)


def _checked(input: Any, dim: int | None, name: str) -> int | None:
    tensor = check_tensor(input, name)
    if tensor._data.dtype.kind == "c":
        raise not_implemented("unique", tensor)
    if dim is None:
        return None
    if not tensor.dim():
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    axis = wrap_dim(dim, tensor.dim())
    others = [n for d, n in enumerate(tensor.shape) if d != axis]
    if 0 in others and tensor.shape[axis]:
        raise RuntimeError(
            "There are 0 sized dimensions, and they aren't selected, so unique cannot "
            "be applied"
        )
    return axis


def _chosen(found: Any, inverse: bool, counts: bool) -> Any:
    values, places, many = found
    if not (inverse or counts):
        return values
    return (values, *([places] if inverse else []), *([many] if counts else []))


def _asked_for(found: Any, inverse: bool, counts: bool) -> tuple[Any, ...]:
    """Return all three, but empty what nobody asked for."""
    values, places, many = found
    empty = places.new_empty(0)
    return values, places if inverse else empty, many if counts else empty


@public
def _unique(input: Tensor, sorted: bool = True, return_inverse: bool = False) -> Any:
    """Return the different elements, and which of them each element is."""
    return _asked_for(_unique2(input), return_inverse, False)[:2]


def _counted(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> Any:
    """Return the different elements, which each element is, and how many of each."""
    return _asked_for(_unique2(input), return_inverse, return_counts)


FUNCTIONS["_unique2"] = _counted


def unique_dim(
    input: Tensor,
    dim: int,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> Any:
    """Return the different slices, which of them each is, and how many of each."""
    axis = _checked(input, dim, "unique_dim")
    assert axis is not None
    return tuple(_unique_dim(input, axis))


@method(function=True)
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Return the different elements, or slices along ``dim``, in order.

    Also, where asked for, which of them each element is, and how many of each.

    >>> import gradtape as torch
    >>> torch.unique(torch.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    name = "_unique2" if dim is None else "unique_dim"
    as_bool(sorted, name, "sorted", 2)
    as_bool(return_inverse, name, "return_inverse", 3)
    as_bool(return_counts, name, "return_counts", 4)
    axis = _checked(input, dim, "unique")
    if mode.now.watch is not None:
        mode.now.watch.check_read(input, name)
    found = _unique2(input) if axis is None else _unique_dim(input, axis)
    return _chosen(found, return_inverse, return_counts)


@method(function=True)
def unique_consecutive(
    input: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Return the first of every run of equal elements, or slices along ``dim``."""
    as_bool(return_inverse, "unique_consecutive", "return_inverse", 2)
    as_bool(return_counts, "unique_consecutive", "return_counts", 3)
    axis = _checked(input, dim, "unique_consecutive")
    if mode.now.watch is not None:
        mode.now.watch.check_read(input, "unique_consecutive")
    if axis is None:
        found = _unique_consecutive(input)
    else:
        found = _unique_dim_consecutive(input, axis)
    return _chosen(found, return_inverse, return_counts)
