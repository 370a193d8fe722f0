"""What a profiler can be told: activities and experimental options."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from enum import Enum
from typing import Any


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
