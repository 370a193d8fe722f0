"""What the profiler recorded, as events: one call each, and averages of several."""

from __future__ import annotations

import json
from collections.abc import Iterable
from enum import Enum
from typing import Any, NamedTuple

from .table import FormattedTimesMixin, TableOptions, attribute_of, build_table


class DeviceType(Enum):
    """Where an event took its time."""

    CPU = 0
    CUDA = 1
    MKLDNN = 2
    HIP = 6
    XPU = 12
    MTIA = 17
    PrivateUse1 = 20

    def __str__(self) -> str:
        return f"DeviceType.{self.name}"


class Interval:
    """A span of time in µs."""

    def __init__(self, start: float, end: float) -> None:
        self.start = start
        self.end = end

    def elapsed_us(self) -> float:
        """Return the length of the span."""
        return self.end - self.start


class Kernel(NamedTuple):
    """A kernel that ran on a device for an event."""

    name: str
    device: int
    duration: float


class FunctionEvent(FormattedTimesMixin):
    """One call of one function: when, where, on what, and inside of which other."""

    def __init__(
        self,
        id: int,
        name: str,
        thread: int,
        start_us: float,
        end_us: float,
        overload_name: str | None = None,
        fwd_thread: int | None = None,
        input_shapes: Any = None,
        stack: list[str] | None = None,
        scope: int = 0,
        use_device: str | None = None,
        cpu_memory_usage: int = 0,
        device_memory_usage: int = 0,
        is_async: bool = False,
        is_remote: bool = False,
        sequence_nr: int = -1,
        node_id: int = -1,
        device_type: DeviceType = DeviceType.CPU,
        device_index: int = 0,
        device_resource_id: int | None = None,
        is_legacy: bool = False,
        flops: int | None = None,
        trace_name: str | None = None,
        concrete_inputs: list[Any] | None = None,
        kwinputs: dict[str, Any] | None = None,
        is_user_annotation: bool = False,
        is_python_function: bool = False,
        activity_type: str | None = None,
        **more: Any,
    ) -> None:
        self.id = id
        self.node_id = node_id
        self.name = name
        self.overload_name = overload_name
        self.trace_name = trace_name
        self.time_range = Interval(start_us, end_us)
        self.thread = thread
        self.fwd_thread = fwd_thread
        self.kernels: list[Kernel] = []
        self.count = 1
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.input_shapes = input_shapes
        self.concrete_inputs = concrete_inputs
        self.kwinputs = kwinputs
        self.stack = stack
        self.scope = scope
        self.use_device = use_device
        self.cpu_memory_usage = cpu_memory_usage
        self.device_memory_usage = device_memory_usage
        self.is_async = is_async
        self.is_remote = is_remote
        self.sequence_nr = sequence_nr
        self.device_type = device_type
        self.device_index = device_index
        self.device_resource_id = thread if device_resource_id is None else 0
        self.is_legacy = is_legacy
        self.flops = flops
        self.is_user_annotation = is_user_annotation
        self.is_python_function = is_python_function
        self.activity_type = activity_type
        self.self_cpu_percent: Any = -1
        self.total_cpu_percent: Any = -1
        self.total_device_percent: Any = -1
        self.structured_input_shapes = more.get("structured_input_shapes")
        self.structured_input_strides = more.get("structured_input_strides")
        self.input_dtypes = more.get("input_dtypes")
        self.module_hierarchy: str = more.get("module_hierarchy") or ""
        self.external_id = more.get("external_id", 0)
        self.linked_correlation_id = more.get("linked_correlation_id", 0)
        self.event_metadata = None

    def append_kernel(self, name: str, device: int, duration: float) -> None:
        """Add a kernel that ran on a device for this event."""
        assert self.device_type is DeviceType.CPU, "Expected device_type to be CPU"
        self.kernels.append(Kernel(name, device, duration))

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Add an event that ran directly inside of this one."""
        assert isinstance(child, FunctionEvent), "Expected child to be a FunctionEvent"
        assert self.device_type is child.device_type is DeviceType.CPU, (
            "Expected device_type to be CPU"
        )
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent: FunctionEvent) -> None:
        """Say inside of which event this one ran directly."""
        assert isinstance(parent, FunctionEvent), (
            "Expected parent to be a FunctionEvent"
        )
        self.cpu_parent = parent

    @property
    def key(self) -> str:
        """What events are grouped by: the name."""
        return self.name

    @property
    def _synchronous(self) -> bool:
        return not self.is_async and self.device_type is DeviceType.CPU

    @property
    def cpu_time_total(self) -> float:
        """Time in µs from begin to end."""
        if self.device_type is not DeviceType.CPU:
            return 0
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:
        """Time in µs outside of the events inside."""
        if not self._synchronous:
            return 0
        inside = sum(child.cpu_time_total for child in self.cpu_children)
        return self.cpu_time_total - inside

    @property
    def self_cpu_memory_usage(self) -> int:
        """Bytes taken outside of the events inside."""
        if not self._synchronous:
            return 0
        inside = sum(child.cpu_memory_usage for child in self.cpu_children)
        return self.cpu_memory_usage - inside

    @property
    def self_device_memory_usage(self) -> int:
        """Bytes taken on the device outside of the events inside."""
        if not self._synchronous:
            return 0
        inside = sum(child.device_memory_usage for child in self.cpu_children)
        return self.device_memory_usage - inside

    @property
    def device_time_total(self) -> float:
        """Time in µs of the kernels of this event and of those inside."""
        if self.is_async or not self.use_device:
            return 0
        if self.device_type is not DeviceType.CPU:
            return self.time_range.elapsed_us()
        own = sum(kernel.duration for kernel in self.kernels)
        if self.is_legacy:
            return own
        return own + sum(child.device_time_total for child in self.cpu_children)

    @property
    def self_device_time_total(self) -> float:
        """Time in µs of the kernels of this event alone."""
        if self.is_async or not self.use_device:
            return 0
        if self.device_type is not DeviceType.CPU:
            return self.device_time_total
        inside = sum(child.device_time_total for child in self.cpu_children)
        return self.device_time_total - inside

    def __repr__(self) -> str:
        device, children = self.use_device, [child.id for child in self.cpu_children]
        return (
            f"<FunctionEvent id={self.id} name={self.name} "
            f"overload_name={self.overload_name} device_type={self.device_type} "
            f"node_id={self.node_id} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start} end_us={self.time_range.end} "
            f"cpu_children={children} {device}_time={self.device_time_str} "
            f"name={self.name} thread={self.thread} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} "
            f"{device}_memory_usage={self.device_memory_usage} "
            f"is_async={self.is_async} is_remote={self.is_remote} "
            f"seq_nr={self.sequence_nr} is_legacy={self.is_legacy}>"
        )


class FunctionEventAvg(FormattedTimesMixin):
    """The sum of several calls of one function, and their averages."""

    _TAKEN_OVER = (
        "key",
        "node_id",
        "is_async",
        "is_remote",
        "cpu_parent",
        "cpu_children",
        "overload_name",
        "input_shapes",
        "stack",
        "scope",
        "device_type",
        "is_legacy",
        "use_device",
        "is_user_annotation",
    )
    _SUMMED = (
        "cpu_time_total",
        "device_time_total",
        "self_cpu_time_total",
        "self_device_time_total",
        "cpu_memory_usage",
        "device_memory_usage",
        "self_cpu_memory_usage",
        "self_device_memory_usage",
        "count",
    )

    def __init__(self) -> None:
        self.key: str | None = None
        self.count = 0
        self.node_id = 0
        self.is_async = self.is_remote = self.is_legacy = False
        self.is_user_annotation = False
        self.use_device: str | None = None
        self.input_shapes: Any = None
        self.overload_name: str | None = None
        self.stack: list[str] | None = None
        self.scope: int | None = None
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.device_time_total = self.self_device_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.device_memory_usage = self.self_device_memory_usage = 0
        self.cpu_children: list[FunctionEvent] | None = None
        self.cpu_parent: FunctionEvent | None = None
        self.device_type = DeviceType.CPU
        self.flops = 0

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Add one call, or a sum of calls, of the same function."""
        if self.key is None:
            for name in self._TAKEN_OVER:
                setattr(self, name, getattr(other, name))
        assert isinstance(other, FunctionEvent | FunctionEventAvg), (
            "Expected other to be a FunctionEvent or FunctionEventAvg"
        )
        assert other.key == self.key, (
            f"Expected keys to match, but got {other.key} vs {self.key}"
        )
        for name in self._SUMMED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.flops += other.flops or 0
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        device = self.use_device or "cuda"
        return (
            f"<FunctionEventAvg key={self.key} "
            f"self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str}  "
            f"self_{device}_time={self.self_device_time_total_str} "
            f"{device}_time={self.device_time_str} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} "
            f"{device}_memory_usage={self.device_memory_usage}>"
        )


# ---- a list of the profiler's events: nest them, average them, write them out ----

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
