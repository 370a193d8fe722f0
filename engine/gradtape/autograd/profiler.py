"""The autograd profiler: what every op and every node took, forward and backward."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

from .._modes.grad_mode import mode
from .._profiling import composite_ops as _profile_names
from .._profiling.recorder import Recorder
from ..ops import profiler as _op_names  # noqa: F401 - to be found as torch.ops.profiler
from ._profiler.chrome_trace import write_trace
from ._profiler.config import KinetoStepTracker as KinetoStepTracker
from ._profiler.config import ProfilerActivity as ProfilerActivity
from ._profiler.config import _ExperimentalConfig as _ExperimentalConfig
from ._profiler.config import _supported_activities as _supported_activities
from ._profiler.config import kineto_available as kineto_available
from ._profiler.config import record_function as record_function
from ._profiler.nvtx import EnforceUnique as EnforceUnique
from ._profiler.nvtx import emit_itt as emit_itt
from ._profiler.nvtx import emit_nvtx as emit_nvtx
from ._profiler.nvtx import load_nvprof as load_nvprof
from ._profiler.nvtx import parse_nvprof_trace as parse_nvprof_trace
from ._profiler.results import Results
from .profiler_util import EventList as EventList
from .profiler_util import FunctionEvent as FunctionEvent
from .profiler_util import FunctionEventAvg
from .profiler_util import MemRecordsAcc as MemRecordsAcc

_is_profiler_enabled = False
"""Whether a profiler is on: for programs that want to know before they name blocks."""

_VALID_DEVICES = ("cuda", "xpu", "mtia", "hpu")
_TRACE_ONLY = (
    "trace_only=True is incompatible with with_stack=True (stack traces require event "
    "post-processing). Disabling trace_only."
)
_USE_CUDA = (
    "The attribute `use_cuda` will be deprecated soon, please use ``use_device = "
    "'cuda'`` instead."
)


def profiler_enabled() -> bool:
    """Tell whether a profiler records this thread."""
    return mode.now.profile is not None


@dataclass
class _ProfilerStats:
    """What profiling itself took."""

    profiling_window_duration_sec: float = 0
    number_of_events: int = 0
    profiler_prepare_call_duration_us: int = 0
    profiler_enable_call_duration_us: int = 0
    profiler_disable_call_duration_us: int = 0
    parse_kineto_call_duration_us: int = 0
    function_events_build_tree_call_duration_us: int = 0


class profile:
    """Record what every op takes, within a ``with`` block, and sum it up.

    ``record_shapes`` keeps the shapes of arguments, ``with_flops`` estimates operations
    from them, ``profile_memory`` counts the bytes that results take, ``with_stack``
    keeps the lines that called, ``with_modules`` the modules around them. With
    ``acc_events`` entering it again adds to what is there. Only this thread is recorded
    unless ``_ExperimentalConfig(profile_all_threads=True)`` says otherwise.

    >>> import gradtape as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.profiler.profile() as prof:
    ...     (x * x).sum().backward()
    >>> [e.name for e in prof.function_events if e.scope == 1][:2]
    ['SumBackward0', 'MulBackward0']
    """

    _kind = "KINETO"

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: _ExperimentalConfig | None = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
        activity_filters: dict[ProfilerActivity, set[str]] | None = None,
    ) -> None:
        self.enabled = enabled
        if not enabled:
            return
        if use_cuda:
            warnings.warn(_USE_CUDA, FutureWarning, stacklevel=2)
        self.use_cuda = use_cuda
        self.use_device = _checked_device("cuda" if use_cuda else use_device)
        self.record_shapes = record_shapes or with_flops
        self.with_flops = with_flops
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_modules = with_modules
        self.use_cpu = use_cpu
        self.acc_events = acc_events
        self.experimental_config = checked_config(experimental_config, with_stack)
        self.custom_trace_id_callback = custom_trace_id_callback
        self.post_processing_timeout_s = post_processing_timeout_s
        self.activity_filters = activity_filters or {}
        self.trace_id = ""
        self.entered = False
        self.kineto_results: Results | None = None
        self._recorder: Recorder | None = None
        self._events: EventList | None = None
        self._earlier: list[FunctionEvent] = []
        self._stats = _ProfilerStats()
        if not use_cpu:
            assert use_kineto, (
                "Device-only events supported only with Kineto (use_kineto=True)"
            )
            assert self.use_device, "No activities specified for the profiler"
        if post_processing_timeout_s is not None and post_processing_timeout_s < 0:
            raise ValueError("post_processing_timeout_s must be non-negative")

    # ---- recording -----------------------------------------------------------------

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self._prepare_trace()
        self._start_trace()
        return self

    def _prepare_trace(self) -> None:
        self.entered = True
        began = perf_counter_ns()
        make = self.custom_trace_id_callback
        self.trace_id = make() if make else f"{uuid.uuid4().int:032X}"
        self._stats.profiler_prepare_call_duration_us = _us_since(began)

    def _start_trace(self) -> None:
        self.entered = True
        began = perf_counter_ns()
        _profile_names.install()
        _set_is_profiler_enabled(True)
        self._recorder = Recorder(
            self.record_shapes,
            self.profile_memory,
            self.with_stack,
            self.with_modules,
            self.experimental_config.profile_all_threads,
        )
        self._recorder.kind = self._kind
        self._recorder.start()
        self._stats.profiler_enable_call_duration_us = _us_since(began)

    def __exit__(self, *exc: object) -> bool | None:
        if not self.enabled:
            return None
        recorder = self._recorder
        assert recorder is not None, "Profiler must be initialized before stopping"
        if self._events is not None and self.acc_events:
            self._earlier = list(self._events)
        self._events = None
        recorder.stop()
        _set_is_profiler_enabled(mode.now.profile is not None)
        _profile_names.uninstall()
        self.kineto_results = Results(recorder)
        took = _us_since(recorder.stop_ns)
        self._stats.profiler_disable_call_duration_us = took
        window = recorder.stop_ns - recorder.start_ns
        self._stats.profiling_window_duration_sec = window / 1e9
        if self.acc_events and not self.experimental_config.trace_only:
            self._ensure_function_events()
        return False

    def toggle_collection_dynamic(
        self, enabled: bool, activities: Iterable[ProfilerActivity]
    ) -> None:
        """Pause recording, or go on, for the activities named."""
        if self._recorder is not None and ProfilerActivity.CPU in set(activities):
            self._recorder.switch(enabled)

    # ---- results -------------------------------------------------------------------

    def _ensure_function_events(self) -> EventList:
        if self.experimental_config.trace_only:
            raise RuntimeError(
                "events() is not available when trace_only=True in "
                "ExperimentalConfig. Use export_chrome_trace() instead."
            )
        if self._events is not None:
            return self._events
        results, stats = self.kineto_results, self._stats
        assert results is not None, "Expected profiling results"
        began = perf_counter_ns()
        found = results.function_events(
            self.with_flops, self.use_device, self.post_processing_timeout_s
        )
        stats.parse_kineto_call_duration_us = _us_since(began)
        began = perf_counter_ns()
        events = EventList(found, self.use_device, self.profile_memory, self.with_flops)
        events._build_tree()
        stats.function_events_build_tree_call_duration_us = _us_since(began)
        stats.number_of_events = len(events)
        events += self._earlier
        self._earlier = []
        self._events = events
        return events

    @property
    def function_events(self) -> EventList:
        """All events, in the order in which they began."""
        return self._ensure_function_events()

    def __repr__(self) -> str:
        if not self.enabled or self.kineto_results is None:
            return "<unfinished torch.autograd.profile>"
        return repr(self._ensure_function_events())

    def __str__(self) -> str:
        if not self.enabled or self.kineto_results is None:
            return "<unfinished torch.autograd.profile>"
        return str(self._ensure_function_events())

    def table(self, *args: Any, **kwargs: Any) -> str:
        """Return all events as a table; see :meth:`EventList.table`."""
        return self._ensure_function_events().table(*args, **kwargs)

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """Return one average per name, and per shapes or stack where asked for."""
        return self._ensure_function_events().key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def total_average(self) -> FunctionEventAvg:
        """Return the sum over all events."""
        return self._ensure_function_events().total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """The sum in µs of what every event took for itself."""
        return self._ensure_function_events().self_cpu_time_total

    def export_chrome_trace(
        self,
        path: str,
        metadata: dict[str, Any] | None = None,
        use_python_export: bool = False,
    ) -> None:
        """Write a trace that chrome://tracing and Perfetto read.

        Every call is a complete event; arrows lead from each forward call to the node
        it made. ``metadata`` goes to the file's head.
        """
        assert self.kineto_results is not None, "Expected profiling results"
        header = {"trace_id": self.trace_id}
        write_trace(self.kineto_results, path, header, metadata or {})

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write one line per stack for a flame graph; needs ``with_stack=True``."""
        events = self._ensure_function_events()
        assert self.with_stack, "export_stacks() requires with_stack=True"
        events.export_stacks(path, metric)


def _us_since(began_ns: int) -> int:
    return max(1, (perf_counter_ns() - began_ns) // 1000)


def _set_is_profiler_enabled(enable: bool) -> None:
    global _is_profiler_enabled  # noqa: PLW0603 - programs read it as a module's name
    _is_profiler_enabled = enable


def _checked_device(use_device: str | None) -> str | None:
    """Return the device to time; None, with a warning, where that is not possible."""
    if use_device is None:
        return None
    if use_device not in _VALID_DEVICES:
        warnings.warn(f"The {use_device} is not a valid device option.", stacklevel=3)
    else:
        name = use_device.upper()
        warnings.warn(
            f"{name} is not available, disabling {name} profiling", stacklevel=3
        )
    return None


def checked_config(
    config: _ExperimentalConfig | None, with_stack: bool
) -> _ExperimentalConfig:
    """Return the configuration to use, with what cannot go together taken apart."""
    config = config or _ExperimentalConfig()
    if config.trace_only and with_stack:
        warnings.warn(_TRACE_ONLY, stacklevel=3)
        config = config.with_(trace_only=False)
    return config


_profiler_enabled = profiler_enabled
