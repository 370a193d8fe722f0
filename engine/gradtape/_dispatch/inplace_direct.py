"""The short way through a write: one float type, NumPy, nothing recorded."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._graph.observe import observers
from .._graph.op import Op
from .._modes.thread_state import Switches
from .._tensor.tensor import Tensor, plain_types
from .._tensor.write_observers import before_write

_ndarray = np.ndarray


def written_directly(
    op: Op, args: tuple[Any, ...], params: tuple[Any, ...], now: Switches
) -> bool:
    """Write a pointwise result over the first operand; tell whether that was done.

    It is where tensors of one float type meet each other or numbers, the memory of the
    target is its own and in rows, and nobody records, watches or is to be refused.
    What is left to do is to count the write. The general way takes three times as long.
    """
    target = args[0]
    if now.rare or now.watch is not None or observers or before_write:
        return False
    if type(target) not in plain_types:
        return False
    data = target._data
    if type(data) is not _ndarray or data.dtype.char not in "fd":
        return False
    flags = data.flags
    if not flags.c_contiguous or not data.size or (now.grad and target.requires_grad):
        return False
    arrays = [data]
    for position, other in enumerate(args[1:], 1):
        kind = type(other)
        if kind is float or kind is int:
            if position not in op.numbers:
                return False
            arrays.append(np.asarray(other).astype(data.dtype))
            continue
        if kind not in plain_types or not _stands_apart(target, other, now.grad):
            return False
        arrays.append(other._data)
    try:
        if op.check is not None:
            op.check(op.name, *args, *params)
        found = now.run(op.ordered, np, *arrays, *params)
    except (NotImplementedError, ValueError):
        return False  # which refusal comes first, the general way knows
    if found.dtype is not data.dtype or found.shape != data.shape:
        return False
    data[...] = found
    return True


def _stands_apart(target: Tensor, other: Tensor, grad: bool) -> bool:
    """Tell whether an operand is of the target's type, in memory of its own."""
    data, mine = other._data, target._data
    if type(data) is not _ndarray or data.dtype is not mine.dtype:
        return False
    if grad and other.requires_grad:
        return False
    if other is target or target._memory is None or other._memory is None:
        return True
    return target._memory.owner is not other._memory.owner
