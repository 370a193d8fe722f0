"""What a profiler can be told: activities and experimental options."""

from __future__ import annotations

import dataclasses
import warnings
from collections import defaultdict
from contextlib import ContextDecorator
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

from ..._modes.grad_mode import mode
from ..._profiling.event import USER_SCOPE, Event
from ..._profiling.recorder import Recorder


class ProfilerActivity(Enum):
    """What a profiler may watch."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerState(Enum):
    """By what means a profiler records."""

    Disabled = 0
    CPU = 1
    CUDA = 2
    NVTX = 3
    ITT = 4
    KINETO = 5


class RecordScope(Enum):
    """What a recorded range is."""

    FUNCTION = 0
    BACKWARD_FUNCTION = 1
    TORCHSCRIPT_FUNCTION = 2
    KERNEL_FUNCTION_DTYPE = 3
    CUSTOM_CLASS = 4
    BUILD_FEATURE = 5
    LITE_INTERPRETER = 6
    USER_SCOPE = 7


def kineto_available() -> bool:
    """Tell whether traces in Kineto's format can be written: always."""
    return True


def supported() -> set[ProfilerActivity]:
    """Return what a profiler can watch here."""
    return {ProfilerActivity.CPU}


@dataclass
class _ExperimentalConfig:
    """Options beyond the documented ones. Those of device tracers are accepted only.

    ``profile_all_threads`` records every thread, ``trace_only`` makes no events.
    """

    profiler_metrics: list[str] = dataclasses.field(default_factory=list[str])
    profiler_measure_per_kernel: bool = False
    verbose: bool = False
    performance_events: list[str] = dataclasses.field(default_factory=list[str])
    enable_cuda_sync_events: bool = False
    adjust_profiler_step: bool = False
    disable_external_correlation: bool = False
    profile_all_threads: bool = False
    capture_overload_names: bool = False
    record_python_gc_info: bool = False
    expose_kineto_event_metadata: bool = False
    custom_profiler_config: str = ""
    adjust_timestamps: bool = False
    trace_only: bool = False

    def with_(self, **changes: Any) -> _ExperimentalConfig:
        """Return a copy with some options changed."""
        return dataclasses.replace(self, **changes)


_supported_activities = supported


# ---- blocks of code with a name, as rows of the profiler's results -----------


class record_function(ContextDecorator):
    """Name a block of code, or a function, as a row of the profiler's results.

    >>> import gradtape as torch
    >>> with torch.autograd.profiler.profile() as prof:
    ...     with torch.autograd.profiler.record_function("twice"):
    ...         y = torch.ones(2) * 2
    >>> [child.name for child in prof.function_events[0].cpu_children]
    ['aten::ones', 'aten::mul']
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self.run_callbacks_on_exit = True
        self._open: tuple[Recorder, Event] | None = None

    def __enter__(self) -> record_function:
        recorder: Recorder | None = mode.now.profile
        if recorder is not None:
            inputs = None if self.args is None else (self.args,)
            self._open = (recorder, recorder.begin(self.name, USER_SCOPE, inputs))
        return self

    def __exit__(self, *exc: object) -> None:
        if self._open is not None and self.run_callbacks_on_exit:
            recorder, event = self._open
            self._open = None
            if not event.end:
                recorder.finish(event)


# ---- the global step count, which profilers and optimizers advance together ----


class KinetoStepTracker:
    """Counts steps by whoever announces them; the count is that of the furthest.

    >>> from gradtape.autograd.profiler import KinetoStepTracker
    >>> before = KinetoStepTracker.current_step()
    >>> KinetoStepTracker.increment_step("example") - before
    1
    """

    _current_step = 0
    _step_dict: ClassVar[defaultdict[str, int]] = defaultdict(int)

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """Let a requester begin where the count is."""
        cls._step_dict[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Forget a requester; tell whether it was known."""
        return cls._step_dict.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """Count one step of a requester; return the global count."""
        if requester not in cls._step_dict:
            cls.init_step_count(requester)
        cls._step_dict[requester] += 1
        furthest = max(cls._step_dict.values())
        if furthest - cls._current_step > 1:
            warnings.warn(
                "Profiler step count has increased more than 1 - current_step = "
                f"{cls._current_step} step dict =  {cls._step_dict}",
                stacklevel=2,
            )
        cls._current_step = max(cls._current_step, furthest)
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        """Return the global count."""
        return cls._current_step
