"""Several passes over large arrays, block by block, so that they stay in the cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..._backend.compiled import kernel_for
from ..._storage.ownership import fits

BLOCK = 1 << 16
"""Elements of a block: the seventeen passes of gelu over half a million float32 take
0.50 ms in such blocks, 0.64 at once, and over ten millions 10 and 45."""


def want_blocks(xp: Any, first: Any, *others: Any) -> bool:
    """Tell whether arrays are so large, and lie so, that several passes want blocks."""
    return is_plain(xp, first, BLOCK) and all(
        is_plain(xp, each, BLOCK)
        and each.shape == first.shape
        and each.dtype is first.dtype
        for each in others
    )


def is_plain(xp: Any, array: Any, least: int) -> bool:
    """Tell whether an array is NumPy's, of real floats, contiguous and that large."""
    return (
        xp is np
        and type(array) is np.ndarray
        and array.size > least
        and array.dtype.char in "fd"
        and bool(array.flags.c_contiguous)
    )


def want_rows(xp: Any, first: Any, *others: Any) -> bool:
    """Tell whether several passes want blocks, where ``others`` may be broadcast."""
    return want_blocks(xp, first) and all(fits(first, each) for each in others)


class _Compiled(NamedTuple):
    """What does the same as a function of blocks, at once."""

    name: str
    over: bool


_COMPILED: dict[Callable[..., Any], _Compiled] = {}


def compiled_as(
    name: str, over: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Name the kernel that does the same; ``over``: over a copy of the first array."""

    def declare(compute: Callable[..., Any]) -> Callable[..., Any]:
        _COMPILED[compute] = _Compiled(name, over)
        return compute

    return declare


def in_blocks(xp: Any, compute: Callable[..., Any], found: Any, *arrays: Any) -> Any:
    """Fill ``found`` by calls of ``compute(xp, part of found, *parts of arrays)``.

    ``found`` is contiguous, ``arrays`` have its shape or are broadcast to it.
    """
    parts = [found, *arrays]
    if all(np.shape(a) == found.shape and a.flags.c_contiguous for a in arrays):
        parts = [a.reshape(-1) for a in parts]
        if _ran_compiled(compute, found is arrays[0], *parts):
            return found
    for block in rows_of(xp, *parts):
        compute(xp, *block)
    return found


def _ran_compiled(compute: Any, in_place: bool, found: Any, *arrays: Any) -> bool:
    """Run the kernel that does the same, if there is one; tell whether it ran."""
    known = _COMPILED.get(compute)
    run = known and kernel_for(known.name, found, *arrays)
    if not known or not run:
        return False
    if known.over:
        if not in_place:
            np.copyto(found, arrays[0])
        arrays = arrays[1:]
    run(found, *arrays)
    return True


def rows_of(xp: Any, first: Any, *others: Any) -> Iterator[list[Any]]:
    """Cut ``first`` into blocks of some rows, and what is not broadcast to it, too.

    Other libraries' arrays are one block.
    """
    count, arrays = len(first), (first, *others)
    step = max(1, BLOCK * count // max(first.size, 1)) if xp is np else max(count, 1)
    cut = [np.ndim(a) == first.ndim and len(a) == count for a in arrays]
    for begin in range(0, count, step):
        yield [
            a[begin : begin + step] if is_cut else a
            for a, is_cut in zip(arrays, cut, strict=True)
        ]
