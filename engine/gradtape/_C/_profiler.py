"""The profiler's names in ``torch._C._profiler`` that programs use."""

from __future__ import annotations

from enum import Enum
from typing import Any

from .._modes.grad_mode import mode
from .._profiling.event import Event
from .._profiling.recorder import Recorder
from ..autograd._profiler import chrome_trace as _profiler_trace
from ..autograd._profiler.config import ProfilerActivity as ProfilerActivity
from ..autograd._profiler.config import ProfilerState as ProfilerState
from ..autograd._profiler.config import RecordScope as RecordScope
from ..autograd._profiler.config import _ExperimentalConfig as _ExperimentalConfig


class ActiveProfilerType(Enum):
    """By what means this thread is being profiled."""

    NONE = 0
    LEGACY = 1
    KINETO = 2
    NVTX = 3
    ITT = 4


def profiler_type() -> ActiveProfilerType:
    """Return by what means this thread is being profiled."""
    profile = mode.now.profile
    return ActiveProfilerType["NONE" if profile is None else profile.kind]


class RecordFunctionFast:
    """Name a block of code as a row beside the ops, with values to go with it.

    ``input_values`` are described as an op's arguments are, under ``record_shapes``;
    ``keyword_values`` go into the trace. It may be entered again and again.
    """

    def __init__(
        self,
        name: str,
        input_values: Any = None,
        keyword_values: dict[str, Any] | None = None,
    ) -> None:
        self.name = name
        self._inputs = None if input_values is None else list(input_values)
        self._keywords = keyword_values
        self._open: list[tuple[Recorder, Event]] = []

    def __enter__(self) -> RecordFunctionFast:
        recorder: Recorder | None = mode.now.profile
        if recorder is not None:
            event = recorder.begin(self.name, inputs=self._inputs)
            if recorder.shapes:
                event.note = self._keywords
            self._open.append((recorder, event))
        return self

    def __exit__(self, *exc: object) -> None:
        if self._open:
            recorder, event = self._open.pop()
            recorder.finish(event)


_RecordFunctionFast = RecordFunctionFast


def set_links_shown(enabled: bool) -> None:
    """Draw arrows from forward to backward in traces, or do not."""
    _profiler_trace.links_enabled[0] = enabled


def set_values_shown(enabled: bool) -> None:
    """Show the values of arguments that are no tensors in traces, or do not."""
    _profiler_trace.values_shown[0] = enabled


_set_fwd_bwd_enabled_val = set_links_shown
_set_record_concrete_inputs_enabled_val = set_values_shown
