"""From what was recorded to what is shown: the events of a finished run."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from time import perf_counter_ns
from typing import Any

from ..._common.site import resolve
from ..._dtypes import CPP_TYPE, DTYPE_OF
from ..._graph.scope import Scope
from ..._profiling.event import (
    BACKWARD_FUNCTION,
    USER_SCOPE,
    Change,
    Described,
    Event,
    MemoryLog,
)
from ..._profiling.recorder import Recorder
from ..profiler_util import MEMORY_EVENT_NAME, shown_name
from .events import DeviceType, FunctionEvent


class Results:
    """The recorded events of one run, complete: numbers and sums that follow."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.recorded = recorder.events
        self.children: dict[int, list[Event]] = {}
        self.top_level: list[Event] = []
        self.makers: dict[int, Event] = {}  # by sequence number, the forward call
        self.memory = MemoryUse(recorder.memory)
        self._nest()
        for event in reversed(self.recorded):  # inner ones first
            if event.call and event.seq < 0:
                inside = [e.seq for e in self.children.get(event.id, ())]
                event.seq = min((seq for seq in inside if seq >= 0), default=-1)
        for event in self.recorded:
            if event.seq >= 0 and not self.is_backward(event):
                self.makers[event.seq] = event  # the innermost comes last
        for event in self.recorded:
            if event.scope == BACKWARD_FUNCTION and event.seq not in self.makers:
                self._find_maker(event.seq)

    def _nest(self) -> None:
        around: dict[int, list[Event]] = {}
        for event in sorted(self.recorded, key=lambda e: e.start):
            stack = around.setdefault(event.thread, [])
            while stack and stack[-1].end < event.end:
                stack.pop()
            inside = self.children.setdefault(stack[-1].id, []) if stack else None
            (self.top_level if inside is None else inside).append(event)
            stack.append(event)

    def _find_maker(self, seq: int) -> None:
        """Link a node that no op announced to the call during which it was made."""
        at = bisect_left(self.recorded, seq, key=lambda event: event.first_node)
        for event in reversed(self.recorded[:at]):
            if event.last_node > seq:
                self.makers[seq] = event
                if event.call and not 0 <= event.seq < seq:
                    event.seq = seq
                return

    @staticmethod
    def is_backward(event: Event) -> bool:
        """Tell whether an event is the run of a node, or the row around it."""
        return event.scope == BACKWARD_FUNCTION or event.name.startswith("autograd::")

    def forward_thread(self, event: Event) -> int:
        """Return the thread that made the node an event runs; 0 in forward."""
        if not self.is_backward(event) or event.seq < 0:
            return 0
        maker = self.makers.get(event.seq)
        return event.thread if maker is None else maker.thread

    def function_events(
        self, with_flops: bool, use_device: str | None, timeout_s: float | None
    ) -> list[FunctionEvent]:
        """Return all events; only the first of them where it would take too long."""
        began = perf_counter_ns()
        found: list[FunctionEvent] = []
        for event in self.recorded:
            if timeout_s is not None and perf_counter_ns() - began >= timeout_s * 1e9:
                break
            found.append(self._function_event(event, with_flops, use_device))
        for change in self.memory.outside(self.top_level):
            found.append(self._memory_event(change, use_device))
        found.sort(key=lambda each: (each.time_range.start, -each.time_range.end))
        return found

    def _function_event(
        self, event: Event, with_flops: bool, use_device: str | None
    ) -> FunctionEvent:
        start = self.recorder.start_ns
        inputs = event.inputs
        return FunctionEvent(
            id=event.id,
            name=shown_name(event.name, with_wildcard=True),
            overload_name="",
            trace_name=event.name,
            thread=event.thread,
            start_us=(event.start - start) / 1000,
            end_us=(event.end - start) / 1000,
            fwd_thread=self.forward_thread(event),
            input_shapes=[_shape(each) for each in inputs],
            concrete_inputs=[_concrete(each) for each in inputs],
            kwinputs=dict(event.note or {}),
            stack=stack_texts(event),
            scope=event.scope,
            use_device=use_device,
            cpu_memory_usage=self.memory.within(event),
            is_async=event.end_thread not in (0, event.thread),
            sequence_nr=event.seq,
            flops=flops_of(event.name, inputs) if with_flops else 0,
            is_user_annotation=event.scope == USER_SCOPE,
            activity_type=category_of(event),
            external_id=event.id,
            input_dtypes=[dtype_text(each) for each in inputs],
            structured_input_shapes=[dims(each) for each in inputs],
            structured_input_strides=[steps(each) for each in inputs],
            module_hierarchy=hierarchy_of(event.where),
        )

    def _memory_event(self, change: Change, use_device: str | None) -> FunctionEvent:
        """Return the row of memory that came or went between all calls."""
        at = (change.time_ns - self.recorder.start_ns) / 1000
        return FunctionEvent(
            id=0,
            name=MEMORY_EVENT_NAME,
            overload_name="",
            thread=change.thread,
            start_us=at,
            end_us=at,
            fwd_thread=change.thread,
            input_shapes=[],
            stack=[],
            use_device=use_device,
            cpu_memory_usage=change.nbytes,
            flops=0,
        )

    # ---- as Kineto offers them -----------------------------------------------------

    def events(self) -> list[KinetoEvent]:
        """Return the raw events, times in ns."""
        return [KinetoEvent(event) for event in self.recorded]

    def trace_start_ns(self) -> int:
        """Return when recording began."""
        return self.recorder.start_ns


class MemoryUse:
    """Sums of the memory that came and went, by thread and time."""

    def __init__(self, log: MemoryLog | None) -> None:
        self._threads: dict[int, list[Change]] = {}
        for change in () if log is None else log.changes:
            self._threads.setdefault(change.thread, []).append(change)
        self._times = {
            thread: [change.time_ns for change in changes]
            for thread, changes in self._threads.items()
        }
        self._sums = {
            thread: [0, *itertools.accumulate(change.nbytes for change in changes)]
            for thread, changes in self._threads.items()
        }

    def within(self, event: Event) -> int:
        """Return the bytes taken, less those given back, while a call ran."""
        if event.thread not in self._threads:
            return 0
        times, sums = self._times[event.thread], self._sums[event.thread]
        return (
            sums[bisect_right(times, event.end)] - sums[bisect_left(times, event.start)]
        )

    def outside(self, calls: Iterable[Event]) -> list[Change]:
        """Return the changes while none of these calls ran."""
        covered: dict[int, set[int]] = {}
        for call in calls:
            times = self._times.get(call.thread, [])
            span = range(bisect_left(times, call.start), bisect_right(times, call.end))
            covered.setdefault(call.thread, set()).update(span)
        return [
            change
            for thread, changes in self._threads.items()
            for index, change in enumerate(changes)
            if index not in covered.get(thread, ())
        ]


class KinetoEvent:
    """A recorded call under the names of Kineto's own events."""

    def __init__(self, event: Event) -> None:
        self._event = event

    def name(self) -> str:
        """Return the row's name."""
        return self._event.name

    def start_ns(self) -> int:
        """Return when the call began."""
        return self._event.start

    def end_ns(self) -> int:
        """Return when the call ended."""
        return self._event.end

    def duration_ns(self) -> int:
        """Return how long the call took."""
        return self._event.end - self._event.start

    def correlation_id(self) -> int:
        """Return the event's number, which no other run uses again."""
        return self._event.id

    def linked_correlation_id(self) -> int:
        """Return the number of the call behind a kernel: 0, there are no kernels."""
        return 0

    def device_type(self) -> DeviceType:
        """Return where the call took its time."""
        return DeviceType.CPU

    def sequence_nr(self) -> int:
        """Return the number of the node it made or ran, -1 for none."""
        return self._event.seq

    def start_thread_id(self) -> int:
        """Return the thread, numbered from 1."""
        return self._event.thread


def category_of(event: Event) -> str:
    """Return the kind of an event in PyTorch's traces."""
    return "user_annotation" if event.scope == USER_SCOPE else "cpu_op"


def stack_texts(event: Event) -> list[str]:
    """Return where an event was called: "file(line): function", innermost first."""
    sites = [resolve(*raw) for raw in event.stack]
    return [f"{site.file}({site.line}): {site.function}" for site in sites]


def hierarchy_of(scope: Scope | None) -> str:
    """Return the module calls around an event, outermost first, as PyTorch does."""
    calls: list[str] = []
    while scope is not None:
        name = "TOP" if scope.parent is None else scope.name
        calls.append(f"{name}({scope.kind})::forward.")
        scope = scope.parent
    return "".join(reversed(calls))


# ---- arguments ---------------------------------------------------------------------


def _shape(value: Any) -> list[int]:
    return value.shape if isinstance(value, Described) else []


def _is_tensors(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(v, Described) for v in value)


def dims(value: Any) -> list[Any]:
    """Return the shape of an argument, or the shapes of a list of tensors."""
    return [_shape(each) for each in value] if _is_tensors(value) else _shape(value)


def steps(value: Any) -> list[Any]:
    """Return the strides of an argument, or those of a list of tensors."""
    if _is_tensors(value):
        return [steps(each) for each in value]
    return value.strides if isinstance(value, Described) else []


def dtype_text(value: Any) -> str:
    """Return what an argument is, in the words of PyTorch's traces."""
    if isinstance(value, Described):
        return CPP_TYPE[DTYPE_OF[value.dtype]]
    if _is_tensors(value):
        return "TensorList"
    if isinstance(value, list):
        return "ScalarList"
    return "Scalar" if isinstance(value, bool | int | float | complex) else ""


def _concrete(value: Any) -> Any:
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, list) and not _is_tensors(value):
        return value
    return None


def concrete_texts(inputs: Iterable[Any]) -> list[str]:
    """Return the arguments that are no tensors as texts; "" for the others."""
    values = [_concrete(each) for each in inputs]
    return ["" if value is None else str(value) for value in values]


# ---- floating-point operations ----

Shapes = list[list[int]]


def flops_of(name: str, inputs: Sequence[Any]) -> int:
    """Return PyTorch's estimate for the ops it has one for, else 0.

    Products of matrices count two operations per term, sums and products of elements
    one per element of the first operand.
    """
    count = _COUNTS.get(name)
    shapes = [each.shape if isinstance(each, Described) else [] for each in inputs]
    if count is None:
        return 0
    try:
        return count(shapes, inputs)
    except (IndexError, ValueError):
        return 0  # an op called with operands that the estimate does not know


def _matrices(a: list[int], b: list[int]) -> int:
    return 2 * math.prod(a) * b[-1]


def _elements(shapes: Shapes, inputs: Sequence[Any]) -> int:
    return math.prod(shapes[0]) if isinstance(inputs[0], Described) else 0


def _convolution(shapes: Shapes, inputs: Sequence[Any]) -> int:
    image, weight, *_ = shapes
    stride, padding, dilation, groups = (*inputs[3:], *(1, 0, 1, 1)[len(inputs) - 3 :])
    sizes: list[int] = []
    for axis, (size, kernel) in enumerate(zip(image[-2:], weight[-2:], strict=True)):
        step, pad, spread = (_along(v, axis) for v in (stride, padding, dilation))
        sizes.append((size + 2 * pad - spread * (kernel - 1) - 1) // step + 1)
    batch = image[0] if len(image) == 4 else 1
    terms = math.prod(weight[1:]) if groups else 0
    return 2 * batch * math.prod(sizes) * weight[0] * terms


def _along(value: Any, axis: int) -> int:
    return int(value[min(axis, len(value) - 1)] if isinstance(value, list) else value)


_COUNTS: dict[str, Callable[[Shapes, Sequence[Any]], int]] = {
    "aten::add": _elements,
    "aten::mul": _elements,
    "aten::mm": lambda shapes, _: _matrices(shapes[0], shapes[1]),
    "aten::bmm": lambda shapes, _: _matrices(shapes[0], shapes[1]),
    "aten::addmm": lambda shapes, _: _matrices(shapes[1], shapes[2]),
    "aten::baddbmm": lambda shapes, _: _matrices(shapes[1], shapes[2]),
    "aten::conv2d": _convolution,
}
