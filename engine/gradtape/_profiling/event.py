"""One recorded call of the profiler, and what is kept of its arguments."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from .._common.site import RawSite
from .._tensor.tensor import Tensor

FUNCTION, BACKWARD_FUNCTION, USER_SCOPE = 0, 1, 7
"""PyTorch's RecordScope: an op, the run of a node, a block that the user named."""

_next_id = itertools.count(1).__next__


class Event:
    """One call. Times are ns of ``perf_counter``; ``end`` is 0 until it is over."""

    __slots__ = (
        "call",
        "end",
        "end_thread",
        "first_node",
        "id",
        "inputs",
        "last_node",
        "name",
        "native_thread",
        "note",
        "scope",
        "seq",
        "stack",
        "start",
        "thread",
        "where",
    )

    def __init__(self, name: str, scope: int) -> None:
        self.id = _next_id()
        self.name = name
        self.scope = scope
        self.end = 0
        self.end_thread = 0
        self.last_node = 0  # nodes made meanwhile have numbers in between
        self.seq = -1  # of the node it made, or that it is the run of
        self.inputs: Sequence[Any] = ()  # described arguments, see `described`
        self.note: Any = None  # keywords of a named block
        self.stack: tuple[RawSite, ...] = ()
        self.call = False  # made of other ops: its sequence number is theirs
        self.where: Any = None  # the module call it belongs to


def described(value: Any) -> Any:
    """Keep of an argument what a report tells, not its memory."""
    if isinstance(value, Tensor):
        value = value._data
    if hasattr(value, "strides") and hasattr(value, "dtype"):
        item = value.dtype.itemsize
        strides = [step // item for step in value.strides]
        return Described(list(value.shape), strides, value.dtype)
    if isinstance(value, list | tuple):
        return [described(each) for each in value]
    return value


class Described:
    """An array that was an argument."""

    __slots__ = ("dtype", "shape", "strides")

    def __init__(self, shape: list[int], strides: list[int], dtype: Any) -> None:
        self.shape = shape
        self.strides = strides
        self.dtype = dtype
