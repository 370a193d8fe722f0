"""How the profiler writes times, sizes and the table of its events."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_WIDTH = 12  # of a column of numbers
_GAP = 2
_PREFIXES = ("", "K", "M", "G", "T", "P")


def _format_time(time_us: float) -> str:
    """Write a time given in µs.

    >>> from gradtape.autograd.profiler_util import _format_time
    >>> _format_time(1500.0)
    '1.500ms'
    """
    if time_us >= 1e6:
        return f"{time_us / 1e6:.3f}s"
    return f"{time_us / 1e3:.3f}ms" if time_us >= 1e3 else f"{time_us:.3f}us"


def _format_time_share(time_us: float, total_time_us: float) -> str:
    """Write a part of a time in percent."""
    if total_time_us == 0:
        assert time_us == 0, f"Expected time_us == 0 but got {time_us}"
        return "NaN"
    return f"{time_us * 100.0 / total_time_us:.2f}%"


def _format_memory(nbytes: int) -> str:
    """Write a number of bytes."""
    for power, unit in ((3, "GB"), (2, "MB"), (1, "KB")):
        if abs(nbytes) >= 1024**power:
            return f"{nbytes / 1024**power:.2f} {unit}"
    return f"{nbytes} B"


def _written(name: str) -> Any:
    return property(lambda self: _format_time(getattr(self, name)))


class FormattedTimesMixin:
    """Averages over ``count`` calls, and every time as text."""

    count: int
    cpu_time_total: Any
    device_time_total: Any

    cpu_time_str = _written("cpu_time")
    device_time_str = _written("device_time")
    cpu_time_total_str = _written("cpu_time_total")
    device_time_total_str = _written("device_time_total")
    self_cpu_time_total_str = _written("self_cpu_time_total")
    self_device_time_total_str = _written("self_device_time_total")

    @property
    def cpu_time(self) -> float:
        """Time in µs of one call, on average."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        """Device time in µs of one call, on average."""
        return self.device_time_total / self.count if self.count else 0.0

    @property
    def cuda_time(self) -> float:
        """The old name of :attr:`device_time`."""
        warnings.warn(
            "`cuda_time` is deprecated, please use `device_time` instead.",
            FutureWarning,
            stacklevel=2,
        )
        return self.device_time


@dataclass(frozen=True)
class TableOptions:
    """What ``table()`` was asked for."""

    sort_by: str | None = None
    header: str | None = None
    row_limit: int = 100
    max_src_column_width: int | None = 75
    max_name_column_width: int | None = 55
    max_shapes_column_width: int | None = 80
    with_flops: bool = False
    profile_memory: bool = False
    top_level_events_only: bool = False
    time_unit: str | None = None


@dataclass
class _Column:
    """One column: its head, its width, and the text of every row."""

    head: str
    texts: list[str]
    width: int = _WIDTH
    left: bool = False


def attribute_of(metric: str) -> str:
    """Return the attribute behind a metric that names a device."""
    for device in ("cuda", "xpu", "privateuse1"):
        metric = metric.replace(device, "device")
    return metric


def build_table(events: Sequence[Any], options: TableOptions) -> str:
    """Write events or averages as PyTorch's table."""
    if not events:
        return ""
    if options.sort_by is not None:
        attribute = attribute_of(options.sort_by)
        events = sorted(events, key=lambda e: getattr(e, attribute), reverse=True)
    total = sum(event.self_cpu_time_total for event in events)
    shown = [
        event
        for event in events
        if not (options.top_level_events_only and event.cpu_parent is not None)
    ]
    if options.row_limit >= 0:
        shown = shown[: options.row_limit]
    columns = _columns(events, shown, total, options)
    return _joined(columns, shown, total, options)


def _columns(
    events: Sequence[Any], shown: Sequence[Any], total: float, options: TableOptions
) -> list[_Column]:
    def time(value: float) -> str:
        return _in_unit(value, options.time_unit)

    columns = _name_columns(events, shown, options)
    for event in shown:
        event.self_cpu_percent = _format_time_share(event.self_cpu_time_total, total)
        event.total_cpu_percent = (
            0 if event.is_async else _format_time_share(event.cpu_time_total, total)
        )
    columns += [
        _Column("Self CPU %", [str(e.self_cpu_percent) for e in shown]),
        _Column("Self CPU", [time(e.self_cpu_time_total) for e in shown]),
        _Column("CPU total %", [str(e.total_cpu_percent) for e in shown]),
        _Column("CPU total", [time(e.cpu_time_total) for e in shown]),
        _Column("CPU time avg", [time(e.cpu_time) for e in shown]),
    ]
    if options.profile_memory:
        own = [_format_memory(e.self_cpu_memory_usage) for e in shown]
        columns.append(
            _Column("CPU Mem", [_format_memory(e.cpu_memory_usage) for e in shown])
        )
        columns.append(_Column("Self CPU Mem", own))
    columns.append(_Column("# of Calls", [str(e.count) for e in shown]))
    if any(event.node_id != -1 for event in events):
        columns.append(_Column("Node ID", [str(e.node_id) for e in shown]))
    if any(event.input_shapes for event in events):
        columns.append(_shapes_column(events, shown, options))
    if any(event.stack for event in events):
        columns.append(_source_column(events, shown, options))
    if options.with_flops:
        columns += _flops_columns(events, shown)
    return columns


def _name_columns(
    events: Sequence[Any], shown: Sequence[Any], options: TableOptions
) -> list[_Column]:
    limit = options.max_name_column_width
    width = max(len(event.key) for event in events) + 4
    width = width if limit is None else min(width, limit)

    def cut(name: str) -> str:
        if limit is not None and len(name) >= limit - 3:
            return name[: limit - 3] + "..."
        return name

    columns = [_Column("Name", [cut(e.key) for e in shown], width)]
    if any(event.overload_name for event in events):
        names = [cut(e.overload_name or "") for e in shown]
        columns.append(_Column("Overload Name", names, width))
    return columns


def _shapes_column(
    events: Sequence[Any], shown: Sequence[Any], options: TableOptions
) -> _Column:
    width = max(len(str(event.input_shapes)) for event in events) + 4
    if options.max_shapes_column_width is not None:
        width = min(width, options.max_shapes_column_width)
    return _Column("Input Shapes", [str(e.input_shapes)[:width] for e in shown], width)


def _source_column(
    events: Sequence[Any], shown: Sequence[Any], options: TableOptions
) -> _Column:
    entries = [entry for event in events for entry in event.stack or ()]
    width = max(map(len, entries)) + 4
    if options.max_src_column_width is not None:
        width = min(width, options.max_src_column_width)
    texts = ["\n".join(_tail(s, width) for s in e.stack or ("",)) for e in shown]
    return _Column("Source Location", texts, width, left=True)


def _tail(path: str, width: int) -> str:
    if len(path) <= width:
        return path
    path = path[-width:]
    return "..." + path[3:] if len(path) > 3 else path


def _flops_columns(events: Sequence[Any], shown: Sequence[Any]) -> list[_Column]:
    counts = [event.flops for event in events if (event.flops or 0) > 0]
    if not counts:
        return []
    power = int(max(0, min(math.log10(min(counts)) / 3, len(_PREFIXES) - 1)))
    texts = [f"{e.flops / 1e3**power:8.3f}" if e.flops else "--" for e in shown]
    return [_Column(f"Total {_PREFIXES[power]}FLOPs", texts)]


def _in_unit(time_us: float, unit: str | None) -> str:
    divisor = {"s": 1e6, "ms": 1e3, "us": 1.0}.get(unit or "")
    return (
        _format_time(time_us) if divisor is None else f"{time_us / divisor:.3f}{unit}"
    )


def _joined(
    columns: list[_Column], shown: Sequence[Any], total: float, options: TableOptions
) -> str:
    length = sum(column.width + _GAP for column in columns) - _GAP
    rule = "".join("-" * column.width + " " * _GAP for column in columns)
    lines: list[str] = []
    if options.header is not None:
        lines += ["=" * length, options.header]
    if options.top_level_events_only:
        lines += ["=" * length, "This report only display top-level ops statistics"]
    lines += [rule, _line([column.head for column in columns], columns), rule]
    for row in range(len(shown)):
        cells = [column.texts[row].split("\n") for column in columns]
        height = max(map(len, cells))
        for i in range(height):
            texts = [cell[i] if i < len(cell) else "" for cell in cells]
            lines.append(_line(texts, columns))
        if columns and any(column.left for column in columns):
            lines.append(_line([""] * len(columns), columns))  # parts the stacks
    lines.append(rule)
    whole = _in_unit(total, options.time_unit)
    return "\n".join([*lines, f"Self CPU time total: {whole}", ""])


def _line(texts: Sequence[str], columns: Sequence[_Column]) -> str:
    return "".join(
        f"{text:{'<' if column.left else '>'}{column.width}}" + " " * _GAP
        for text, column in zip(texts, columns, strict=True)
    )
