"""How the result of a pointwise op lies in memory, where NumPy and PyTorch differ.

Both keep the order of the dimensions that the operands have. Where operands disagree,
the first one that tells two dimensions apart decides in PyTorch, rows win in NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._backend import backend_of
from .._common.compiled import compiled
from .._sparse.array import SparseArray


def laid_out(xp: Any, found: Any, operands: Sequence[Any]) -> Any:
    """Return a pointwise result in PyTorch's memory order, copied only if need be."""
    shape = found.shape
    if found.ndim < 2 or type(found) is SparseArray:
        return found
    arrays = [a for a in operands if getattr(a, "ndim", 0)]
    if not found.size:
        return _empty_like_operands(xp, found, arrays, len(operands))
    alike, known = len(arrays) == len(operands), shape if 1 in shape else None
    if found.flags.c_contiguous and (alike or known is None):
        # Rows in order stay in order, and what is broadcast has no say; only operands
        # with dimensions of size 1 may lie in two ways at once.
        for array in arrays:  # all() over a generator takes twice as long
            if not array.flags.c_contiguous or known not in (None, array.shape):
                break
        else:
            return found
    wanted = _strides_like(shape, arrays, found.itemsize, alike)
    if wanted == found.strides:
        return found
    steps = tuple(s // found.itemsize for s in wanted)
    flat = xp.empty(found.size, found.dtype)
    result = backend_of(flat).strided(flat, shape, steps, 0)
    result[...] = found
    return result


def _empty_like_operands(xp: Any, found: Any, arrays: Sequence[Any], count: int) -> Any:
    """Return a result without elements; operands of its shape have no say in it."""
    shape = found.shape
    if len(arrays) == count and all(a.shape == shape for a in arrays):
        return xp.empty(shape, found.dtype)
    strides = [_broadcast_strides(a, shape) for a in arrays]
    return empty_in_order(xp, shape, found.dtype, sorted_dims(shape, strides))


def empty_in_order(
    xp: Any, shape: tuple[int, ...], dtype: Any, order: Sequence[int]
) -> Any:
    """Return an array without elements, its dimensions in an order, innermost first.

    Where they are not in rows, one outside a dimension of size 0 has stride 0, as
    PyTorch's loops leave it.
    """
    rows = list(order) == list(range(len(shape)))[::-1]
    steps, step = [0] * len(shape), 1
    for dim in order:
        steps[dim] = step
        step *= max(shape[dim], 1) if rows else shape[dim]
    flat = xp.empty(0, dtype)
    return backend_of(flat).strided(flat, shape, tuple(steps), 0)


def is_dense(array: Any) -> bool:
    """Tell whether the elements fill their memory: no gaps, no cell seen twice."""
    return bool(array.flags.c_contiguous) or (
        _dense_strides(array, array.itemsize) is not None
    )


def empty_like_leaf(data: Any, dtype: Any) -> Any:
    """Return memory for the gradient of a leaf: laid out as the leaf, if that is dense.

    The gradient of a leaf with gaps, or that repeats cells, has its rows in order.
    """
    xp = backend_of(data).xp
    if data.flags.c_contiguous or not is_dense(data):
        return xp.empty(data.shape, dtype)
    return xp.empty_like(data, dtype=dtype)


def _strides_like(
    shape: tuple[int, ...], arrays: Sequence[Any], itemsize: int, alike: bool
) -> tuple[int, ...]:
    if alike and all(
        a.shape == shape and a.strides == arrays[0].strides for a in arrays
    ):
        dense = _dense_strides(arrays[0], itemsize)
        if dense is not None:
            return dense
    strides = [_broadcast_strides(a, shape) for a in arrays]
    order = sorted_dims(shape, strides)
    found = [0] * len(shape)
    step = itemsize
    for dim in order:
        found[dim] = step
        step *= shape[dim]
    return tuple(found)


def _dense_strides(array: Any, itemsize: int) -> tuple[int, ...] | None:
    """Return an array's own strides if its elements fill memory without gaps."""
    dims = sorted((s, n) for n, s in zip(array.shape, array.strides, strict=True))
    step = array.itemsize
    for stride, size in dims:
        if size != 1:
            if stride != step:
                return None
            step *= size
    return tuple(s // array.itemsize * itemsize for s in array.strides)


def _broadcast_strides(array: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    lead = len(shape) - array.ndim
    own = (
        0 if n == 1 != m else s
        for n, m, s in zip(array.shape, shape[lead:], array.strides, strict=True)
    )
    return (*(0,) * lead, *own)


def sorted_dims(
    shape: tuple[int, ...], strides: Sequence[tuple[int, ...]]
) -> list[int]:
    """Return the dimensions, innermost first. Ties keep rows in order."""
    order = list(range(len(shape)))[::-1]
    for i in range(1, len(order)):
        at = i
        for before in range(i - 1, -1, -1):
            comparison = _compare(order[before], order[at], shape, strides)
            if comparison > 0:
                order[before], order[at] = order[at], order[before]
                at = before
            elif comparison < 0:
                break
    return order


def _compare(
    a: int, b: int, shape: tuple[int, ...], strides: Sequence[tuple[int, ...]]
) -> int:
    """Say whether dimension ``a`` belongs inside (-1) or outside (1) of ``b``."""
    for each in strides:
        if each[a] == 0 or each[b] == 0:
            continue  # repeated: this operand does not care
        if each[a] != each[b]:
            return -1 if each[a] < each[b] else 1
        if shape[a] > shape[b]:
            return 1
    return 0


laid_out = compiled(laid_out)
