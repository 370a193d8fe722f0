"""The profiler's results: events, their averages, lists of them, and their texts."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from typing import Any

from ._profiler.events import DeviceType as DeviceType
from ._profiler.events import EventList as EventList
from ._profiler.events import FunctionEvent as FunctionEvent
from ._profiler.events import FunctionEventAvg as FunctionEventAvg
from ._profiler.events import Interval as Interval
from ._profiler.events import Kernel as Kernel
from ._profiler.table import FormattedTimesMixin as FormattedTimesMixin
from ._profiler.table import _format_memory as _format_memory
from ._profiler.table import _format_time as _format_time
from ._profiler.table import _format_time_share as _format_time_share

MEMORY_EVENT_NAME = "[memory]"
OUT_OF_MEMORY_EVENT_NAME = "[OutOfMemory]"

_FILTERED_NAMES = {
    MEMORY_EVENT_NAME,
    OUT_OF_MEMORY_EVENT_NAME,
    "profiler::_record_function_enter",
    "profiler::_record_function_enter_new",
    "profiler::_record_function_exit",
    "aten::is_leaf",
    "aten::output_nr",
    "aten::_version",
}


class StringTable(dict[str, str]):
    """Names as they are shown; those of C++ would be demangled here."""

    def __missing__(self, key: str) -> str:
        self[key] = key
        return key


class MemRecordsAcc:
    """Allocation records, found by when they were made."""

    def __init__(self, mem_records: Sequence[Any]) -> None:
        self._records = sorted(mem_records, key=lambda record: record[0].start_ns())
        self._starts = [record[0].start_ns() for record in self._records]

    def in_interval(self, start_ns: int, end_ns: int) -> Iterator[Any]:
        """Yield the records from ``start_ns`` to ``end_ns``, both included."""
        first = bisect.bisect_left(self._starts, start_ns)
        last = bisect.bisect_right(self._starts, end_ns)
        yield from self._records[first:last]


def is_left_out(name: str) -> bool:
    """Tell whether an event of this name is left out."""
    return name in _FILTERED_NAMES


def shown_name(name: str, with_wildcard: bool = False) -> str:
    """Return the name to show; the steps of a schedule become one row of a table."""
    if with_wildcard and name.startswith("ProfilerStep#"):
        return "ProfilerStep*"
    return name


_filter_name = is_left_out


_rewrite_name = shown_name
