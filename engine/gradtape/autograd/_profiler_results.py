"""From what was recorded to what is shown: the events of a finished run."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from time import perf_counter_ns
from typing import Any

from .._dtypes import DTYPE_OF
from .._profile import BACKWARD_FUNCTION, USER_SCOPE, Described, Event, Recorder
from .._scope import Scope
from .._site import resolve
from ._profiler_events import FunctionEvent
from ._profiler_flops import flops_of
from .profiler_util import _rewrite_name

_C_NAMES = {
    "float32": "float",
    "float64": "double",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "int64": "long int",
    "int32": "int",
    "int16": "short int",
    "int8": "signed char",
    "uint8": "unsigned char",
    "bool": "bool",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}


class Results:
    """The recorded events of one run, complete: numbers and sums that follow."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.events = recorder.events
        self.children: dict[int, list[Event]] = {}
        self.makers: dict[int, Event] = {}  # by sequence number, the forward call
        self._nest()
        for event in reversed(self.events):  # inner ones first
            inside = self.children.get(event.id, ())
            if event.call and event.seq < 0:
                event.seq = min((e.seq for e in inside if e.seq >= 0), default=-1)
            nested = sum(each.nbytes for each in inside)
            # What a function made of ops returns, an op inside may have made.
            event.nbytes = (
                max(nested, event.nbytes) if event.call else nested + event.nbytes
            )
        for event in self.events:
            if event.seq >= 0 and not self.is_backward(event):
                self.makers[event.seq] = event  # the innermost comes last
        for event in self.events:
            if event.scope == BACKWARD_FUNCTION and event.seq not in self.makers:
                self._find_maker(event.seq)

    def _nest(self) -> None:
        around: dict[int, list[Event]] = {}
        for event in sorted(self.events, key=lambda e: e.start):
            stack = around.setdefault(event.thread, [])
            while stack and stack[-1].end < event.end:
                stack.pop()
            if stack:
                self.children.setdefault(stack[-1].id, []).append(event)
            stack.append(event)

    def _find_maker(self, seq: int) -> None:
        """Link a node that no op announced to the call during which it was made."""
        at = bisect_left(self.events, seq, key=lambda event: event.first_node)
        for event in reversed(self.events[:at]):
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
        for event in self.events:
            if timeout_s is not None and perf_counter_ns() - began >= timeout_s * 1e9:
                break
            found.append(self._function_event(event, with_flops, use_device))
        found.sort(key=lambda each: (each.time_range.start, -each.time_range.end))
        return found

    def _function_event(
        self, event: Event, with_flops: bool, use_device: str | None
    ) -> FunctionEvent:
        start = self.recorder.start_ns
        inputs = event.inputs
        return FunctionEvent(
            id=event.id,
            name=_rewrite_name(event.name, with_wildcard=True),
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
            cpu_memory_usage=event.nbytes,
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
        known = DTYPE_OF[value.dtype]
        name = str(known).removeprefix("torch.")
        return _C_NAMES.get(name, name)
    if _is_tensors(value):
        return "TensorList"
    if isinstance(value, list):
        return "ScalarList"
    return "Scalar" if isinstance(value, bool | int | float | complex) else ""


def _concrete(value: Any) -> Any:
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list) and not _is_tensors(value):
        return value
    return None


def concrete_texts(inputs: Iterable[Any]) -> list[str]:
    """Return the arguments that are no tensors as texts; "" for the others."""
    values = [_concrete(each) for each in inputs]
    return ["" if value is None else str(value) for value in values]


