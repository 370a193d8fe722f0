"""Which elements share a memory cell, and what a write makes of that."""

from __future__ import annotations

import warnings
from typing import Any

from .._backend import backend_of
from .._common import messages as _errors
from .._common.site import user_stacklevel
from .._graph.op import Op
from .tensor import Tensor


class OverlapWarning(UserWarning):
    """A write met a cell twice: the result depends on the order of the elements.

    PyTorch writes without a word, in an order that it does not promise.
    """


NONE, CERTAIN, UNKNOWN = 0, 1, 2
"""What strides alone say about elements of one tensor that share a cell."""

_SPARED = {
    "fill": "",
    "index_fill": "tensor[mask] = scalar",
    "index_put": "tensor[indices] = tensor",
    "masked_fill": "tensor[mask] = scalar",
    "threshold": "",  # twice is as good as once
    "tril": "",
    "triu": "",
    "zero": "",
}
"""Writes that PyTorch lets pass on an expanded tensor, some with a warning."""


def internal_overlap(array: Any) -> int:
    """Say what strides tell of an overlap, as PyTorch does: none, certain, unknown."""
    if is_dense(array):
        return NONE
    for size, stride in zip(array.shape, array.strides, strict=True):
        if size > 1 and stride == 0:
            return CERTAIN
    return UNKNOWN


def is_dense(array: Any) -> bool:
    """Tell whether the elements fill a stretch of memory, each cell once."""
    if array.flags.forc or not array.size:
        return True  # the common case, told by a flag
    step = array.itemsize
    for stride, size in sorted(zip(array.strides, array.shape, strict=True)):
        if size != 1:
            if stride != step:
                return False
            step *= size
    return True


def shares_cells(array: Any) -> bool:
    """Tell whether any two elements of an array share a cell."""
    reach = 0
    for stride, size in sorted(zip(array.strides, array.shape, strict=True)):
        if size > 1:
            if stride <= reach:
                break
            reach += stride * (size - 1)
    else:
        return False  # every step leads past all that the smaller ones reach
    cells = cells_of(array)
    return len(backend_of(array).xp.unique(cells)) < cells.size


def meets_cells_twice(array: Any) -> bool:
    """Tell whether writing an array element by element meets a cell twice."""
    return internal_overlap(array) == UNKNOWN and shares_cells(array)


def cells_of(array: Any) -> Any:
    """Return where each element lies, in elements from the first."""
    xp = backend_of(array).xp
    cells = xp.zeros(array.shape, "int64")
    for dim, (size, stride) in enumerate(zip(array.shape, array.strides, strict=True)):
        steps = xp.arange(size) * (stride // array.itemsize)
        cells += steps.reshape((size,) + (1,) * (array.ndim - dim - 1))
    return cells


def check_overlap(target: Tensor, name: str = "") -> bool:
    """Refuse to write where several elements share one cell (an expanded tensor).

    ``name`` is the op's: a few are let pass, as PyTorch does, and True is returned.
    """
    data = target._data
    if data.flags.forc or not data.size:
        return False
    for size, stride in zip(data.shape, data.strides, strict=True):
        if size > 1 and stride == 0:
            break
    else:
        return False
    if name not in _SPARED:
        raise RuntimeError(_errors.OVERLAPPING_WRITE)
    if _SPARED[name]:
        warnings.warn(
            _errors.EXPANDED_WRITE.format(name=name, example=_SPARED[name]),
            UserWarning,
            stacklevel=user_stacklevel(),
        )
    return True


def check_partial_overlap(op: Op, target: Tensor, args: tuple[Any, ...]) -> None:
    """Refuse operands that share some, but not all, cells with what is written.

    A tensor called ``value`` stands for a number, which is read before.
    """
    data, scattered = target._data, op.name in _SCATTERED
    memory = target._memory
    if memory is None and not scattered:
        return
    for position, (name, arg) in enumerate(zip(op.tensors, args, strict=False)):
        if not isinstance(arg, Tensor) or name == "value":
            continue
        if arg is target:
            if position and scattered:
                raise RuntimeError(_errors.PARTIAL_OVERLAP)
            continue
        theirs = arg._memory
        shared = (
            memory is not None and theirs is not None and theirs.owner is memory.owner
        )
        if shared and _partly(data, arg._data, scattered):
            raise RuntimeError(_errors.PARTIAL_OVERLAP)


def check_apart(target: Tensor, args: tuple[Any, ...]) -> None:
    """Refuse operands that share any cell with what is written."""
    memory = target._memory
    for arg in args:
        if not isinstance(arg, Tensor):
            continue
        theirs = arg._memory
        shared = arg is target or (
            memory is not None and theirs is not None and theirs.owner is memory.owner
        )
        if shared and _partly(target._data, arg._data, True):
            raise RuntimeError(_errors.PARTIAL_OVERLAP)


_SCATTERED = {
    *("index_add", "index_copy", "index_fill", "index_put", "put"),
    *("scatter", "scatter_add", "scatter_reduce"),
}
"""Writes in an order of their own: no cell they write may be read meanwhile."""


def check_places(target: Tensor, places: Any) -> None:
    """Refuse to write into the arrays that say where to write."""
    data = target._data
    for place in places:
        if getattr(place, "dtype", None) is data.dtype and _partly(data, place, True):
            raise RuntimeError(_errors.PARTIAL_OVERLAP)


def _partly(mine: Any, theirs: Any, wholly: bool) -> bool:
    """Tell whether two arrays overlap; where they are the same, say ``wholly``."""
    if not mine.size or not theirs.size or not (is_dense(mine) and is_dense(theirs)):
        return False  # cannot be told from the outside; PyTorch does not look further
    begin, other = (backend_of(a).pointer(a) for a in (mine, theirs))
    end, other_end = begin + mine.nbytes, other + theirs.nbytes
    if (begin, end) == (other, other_end):
        return wholly or mine.strides != theirs.strides
    return begin < other_end and other < end


def warn_shared() -> None:
    """Say that the result of a write depends on the order of the elements."""
    warnings.warn(_errors.SHARED_CELLS, OverlapWarning, stacklevel=user_stacklevel())


def layers_of(array: Any) -> list[Any]:
    """Split the positions of an array into sets that meet every cell once, in order."""
    xp = backend_of(array).xp
    left = xp.arange(array.size)
    cells = cells_of(array).reshape(-1)
    layers: list[Any] = []
    while left.size:
        _, first = xp.unique(cells[left], return_index=True)
        layers.append(left[xp.sort(first)])
        left = xp.delete(left, first)
    return layers
