"""What the profiler recorded, as events: one call each, and averages of several."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

from .table import FormattedTimesMixin


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
