"""A list of the profiler's events: nest them, average them, write them out."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from .events import DeviceType, FunctionEvent, FunctionEventAvg
from .table import TableOptions, attribute_of, build_table

BACKWARD_FUNCTION = 1
"""The scope of an event that is the run of a node."""

_NO_SPACES = str.maketrans(" ;\t\n", "____")


class EventList(list[Any]):
    """Events in the order in which they began, or averages of them.

    >>> import gradtape as torch
    >>> with torch.autograd.profiler.profile() as prof:
    ...     y = torch.ones(2) * 2
    >>> [event.count for event in prof.key_averages() if event.key == "aten::mul"]
    [1]
    """

    def __init__(
        self,
        events: Iterable[Any] = (),
        use_device: str | None = None,
        profile_memory: bool = False,
        with_flops: bool = False,
    ) -> None:
        super().__init__(events)
        self._use_device = use_device
        self._profile_memory = profile_memory
        self._with_flops = with_flops
        self._tree_built = False

    def __str__(self) -> str:
        return self.table()

    # ---- nesting -------------------------------------------------------------------

    def _build_tree(self) -> None:
        self._populate_cpu_children()
        self._remove_dup_nodes()
        self._set_backward_stacktraces()
        self._tree_built = True

    def _populate_cpu_children(self) -> None:
        """Make an event the child of the narrowest one around it, on its thread."""
        threads: dict[Any, list[FunctionEvent]] = {}
        for event in self:
            if not event.is_async and event.device_type is DeviceType.CPU:
                threads.setdefault((event.thread, event.node_id), []).append(event)
        for events in threads.values():
            events.sort(key=lambda e: (e.time_range.start, -e.time_range.end))
            around: list[FunctionEvent] = []
            for event in events:
                span = event.time_range
                while around and (
                    span.start >= around[-1].time_range.end
                    or span.end > around[-1].time_range.end
                ):
                    around.pop()
                if around:
                    around[-1].append_cpu_child(event)
                    event.set_cpu_parent(around[-1])
                around.append(event)

    def _remove_dup_nodes(self) -> None:
        """Take out an only child of the same name: a function that is one op."""
        while True:
            twins = [event for event in self if _is_twin(event)]
            if not twins:
                return
            for event in twins:
                parent = event.cpu_parent
                parent.cpu_children = event.cpu_children
                parent.kernels = event.kernels
                if parent.sequence_nr < 0:
                    parent.sequence_nr = event.sequence_nr
                for child in event.cpu_children:
                    child.cpu_parent = parent
            gone = {id(event) for event in twins}
            self[:] = [event for event in self if id(event) not in gone]

    def _set_backward_stacktraces(self) -> None:
        """Give what ran in backward the stack of the forward call it belongs to."""
        stacks: dict[tuple[int, Any], list[str]] = {}
        inside = [(event, _backward_around(event)) for event in self]
        for event, node in inside:
            if node is None and event.stack is not None:
                stacks.setdefault((event.sequence_nr, event.thread), event.stack)
        for event, node in inside:
            if node is not None:
                event.stack = stacks.get((node.sequence_nr, node.fwd_thread), [])

    # ---- sums ----------------------------------------------------------------------

    @property
    def self_cpu_time_total(self) -> float:
        """The sum in µs of what every event took for itself."""
        return sum(event.self_cpu_time_total for event in self)

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """Return one average per name, and per shapes or stack where asked for."""
        assert self._tree_built, "Expected tree to be built before calling key_averages"
        sums: dict[tuple[Any, ...], FunctionEventAvg] = {}
        for event in self:
            key = (
                event.key,
                event.node_id,
                event.device_type,
                event.is_legacy,
                event.is_user_annotation,
                event.overload_name if group_by_overload_name else "",
                str(event.input_shapes) if group_by_input_shapes else "",
                *(event.stack or ())[:group_by_stack_n],
            )
            sums.setdefault(key, FunctionEventAvg()).add(event)
        for each in sums.values():
            each.stack = (each.stack or [])[:group_by_stack_n]
            if not group_by_input_shapes:
                each.input_shapes = ""
            if not group_by_overload_name:
                each.overload_name = ""
        return EventList(
            sums.values(), self._use_device, self._profile_memory, self._with_flops
        )

    def total_average(self) -> FunctionEventAvg:
        """Return the sum over all events, under the name "Total"."""
        total = FunctionEventAvg()
        for event in self:
            total.key = None if total.count == 0 else event.key
            total.add(event)
        total.key = "Total"
        return total

    # ---- output --------------------------------------------------------------------

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int | None = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int | None = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """Return the events as a table.

        ``sort_by`` names a number of the events, such as "self_cpu_time_total" or
        "count"; the largest comes first. ``row_limit=-1`` shows all rows. ``time_unit``
        is "s", "ms" or "us"; without it every time is written in the unit it fits.
        """
        options = TableOptions(
            sort_by,
            header,
            row_limit,
            max_src_column_width,
            max_name_column_width,
            max_shapes_column_width,
            self._with_flops,
            self._profile_memory,
            top_level_events_only,
            time_unit,
        )
        return build_table(self, options)

    def export_chrome_trace(self, path: str) -> None:
        """Write the events to a file that chrome://tracing and Perfetto read."""
        traced = [event for event in self if event.trace_name is not None]
        spans = [
            {
                "name": event.trace_name,
                "ph": "X",
                "ts": event.time_range.start,
                "dur": event.time_range.elapsed_us(),
                "tid": event.thread,
                "pid": "CPU functions",
                "args": {},
            }
            for event in traced
        ]
        with open(path, "w") as file:
            json.dump(spans, file)

    def supported_export_stacks_metrics(self) -> list[str]:
        """Return what :meth:`export_stacks` can measure stacks by."""
        devices = ("cpu", "cuda", "xpu", "privateuse1")
        return [f"self_{device}_time_total" for device in devices]

    def export_stacks(self, path: str, metric: str) -> None:
        """Write one line per stack, outermost first, for a flame graph.

        Needs events recorded with ``with_stack=True``. Raises ValueError for a metric
        that :meth:`supported_export_stacks_metrics` does not list.
        """
        known = self.supported_export_stacks_metrics()
        if metric not in known:
            raise ValueError("metric should be one of: " + str(known))
        with open(path, "w") as file:
            for event in self:
                value = int(getattr(event, attribute_of(metric)))
                if event.stack and value > 0:
                    frames = [entry.translate(_NO_SPACES) for entry in event.stack]
                    file.write(";".join(reversed(frames)) + f" {value}\n")


def _is_twin(event: FunctionEvent) -> bool:
    parent = event.cpu_parent
    if parent is None or parent.name != event.name or len(parent.cpu_children) != 1:
        return False
    return not _is_twin(parent)


def _backward_around(event: FunctionEvent) -> FunctionEvent | None:
    around: FunctionEvent | None = event
    while around is not None and around.scope != BACKWARD_FUNCTION:
        around = around.cpu_parent
    return around
