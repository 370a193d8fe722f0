"""Whose memory is an array? Decides what may be kept, or overwritten in place."""

from __future__ import annotations

from sys import getrefcount
from typing import Any

import numpy as np


def _count(array: Any) -> int:
    return getrefcount(array)


def _count_kept(holder: Any) -> int:
    kept = holder[0]
    return getrefcount(kept)


def _measure() -> tuple[int, int]:
    """Return what getrefcount says of a caller's variable, and of what a holder has."""
    mine: list[Any] = []
    return _count(mine), _count_kept([[]])


_MINE, _KEPT = _measure()


def is_only_ours(array: Any, others: int = 0) -> bool:
    """Tell whether one variable of the caller alone refers to an array's memory.

    It counts references, as PyTorch does, so whoever kept a gradient may go on using
    it. ``others`` is how many more references the caller knows to be harmless.
    """
    if getrefcount(array) > _MINE + others:
        return False
    base = array.base
    return base is None or (type(base) is type(array) and getrefcount(base) <= _KEPT)


def may_overwrite(array: Any) -> bool:
    """Tell whether an array can take in a result of its own shape, by its memory."""
    flags = array.flags
    return flags.c_contiguous and flags.writeable and type(array) is np.ndarray


def fits(array: Any, operand: Any) -> bool:
    """Tell whether a result of both has the shape and dtype of the array."""
    if type(operand) is not np.ndarray:
        return type(operand) is float or type(operand) is int
    if operand.dtype is not array.dtype:
        return False
    mine, theirs = array.shape, operand.shape
    return mine == theirs or (
        len(theirs) <= len(mine)
        and all(n in (1, m) for n, m in zip(theirs[::-1], mine[::-1], strict=False))
    )
