"""``profile`` with a schedule: record some steps of a loop, hand each trace over."""

from __future__ import annotations

import json
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from .._common.site import user_stacklevel
from ..autograd import profiler as autograd_profiler
from ..autograd._profiler.config import (
    ProfilerActivity,
    _ExperimentalConfig,
    _supported_activities,
)
from ..autograd.profiler import KinetoStepTracker, checked_config
from ..autograd.profiler_util import EventList

PROFILER_STEP_NAME = "ProfilerStep"
_CLEARED = (
    "Warning: Profiler clears events at the end of each cycle. Only events from the "
    "current cycle will be reported. To keep events across cycles, set acc_events=True."
)
_STOPPED_BY_USER = (
    "ProfilerAction.DEVICE_STOPPED is set internally by the profiler and must not be "
    "returned by a user-provided schedule"
)
_TOLD = "profile_memory", "with_stack", "record_shapes", "with_modules", "with_flops"
_warned: list[str] = []

Activities = Iterable[ProfilerActivity | dict[ProfilerActivity, list[str]]]


def supported_activities() -> set[ProfilerActivity]:
    """Return what can be recorded here: the CPU.

    >>> import gradtape as torch
    >>> torch.profiler.ProfilerActivity.CPU in torch.profiler.supported_activities()
    True
    """
    return _supported_activities()


def _parse_activities(
    activities: Activities,
) -> tuple[set[ProfilerActivity], dict[ProfilerActivity, set[str]]]:
    """Take activities apart into the groups and what is wanted of some of them."""
    groups: set[ProfilerActivity] = set()
    filters: dict[ProfilerActivity, set[str]] = {}
    for item in activities:
        if isinstance(item, dict):
            filters.update({group: set(names) for group, names in item.items()})
        elif not isinstance(item, ProfilerActivity):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"Expected ProfilerActivity or dict, got {type(item)}")
        for group in item if isinstance(item, dict) else (item,):
            if group in groups:
                raise ValueError(f"Activity {group} specified more than once")
            groups.add(group)
    return groups, filters


class _KinetoProfile:
    """A profiler that is started and stopped by hand, with PyTorch's options."""

    def __init__(
        self,
        *,
        activities: Activities | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: _ExperimentalConfig | None = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        wanted = supported_activities() if activities is None else activities
        self.activities, self.activity_filters = _parse_activities(wanted)
        self.record_shapes = record_shapes
        self.with_flops = with_flops
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_modules = with_modules
        self.experimental_config = checked_config(experimental_config, with_stack)
        self.execution_trace_observer = execution_trace_observer
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.post_processing_timeout_s = post_processing_timeout_s
        self.profiler: autograd_profiler.profile | None = None
        self.preset_metadata: dict[str, str] = {}
        self._trace_metadata: dict[str, Any] = {}
        self.use_device: str | None = None

    def start(self) -> None:
        """Begin to record."""
        self.prepare_trace()
        self.start_trace()

    def stop(self) -> None:
        """Stop recording."""
        self.stop_trace()

    def prepare_trace(self) -> None:
        """Get ready, so that starting takes no time."""
        clears = self.profiler is not None and not self.acc_events
        if clears and not _warned:
            _warned.append(_CLEARED)
            warnings.warn(_CLEARED, stacklevel=2)
        if self.profiler is None or not self.acc_events:
            self.profiler = autograd_profiler.profile(
                record_shapes=self.record_shapes,
                with_flops=self.with_flops,
                profile_memory=self.profile_memory,
                with_stack=self.with_stack,
                with_modules=self.with_modules,
                use_kineto=True,
                experimental_config=self.experimental_config,
                acc_events=self.acc_events,
                custom_trace_id_callback=self.custom_trace_id_callback,
                post_processing_timeout_s=self.post_processing_timeout_s,
                activity_filters=self.activity_filters or None,
            )
        self.profiler._prepare_trace()

    def start_trace(self) -> None:
        """Begin to record, ready or not."""
        if self.execution_trace_observer:
            self.execution_trace_observer.start()
        self._made("starting trace")._start_trace()
        for name in _TOLD:
            if getattr(self, name):
                self.add_metadata_json(name, "1")
        for name, value in self.preset_metadata.items():
            self.add_metadata_json(name, value)

    def stop_trace(self) -> None:
        """Stop recording."""
        if self.execution_trace_observer:
            self.execution_trace_observer.stop()
        self._made("stopping trace").__exit__(None, None, None)

    def _made(self, step: str) -> autograd_profiler.profile:
        assert self.profiler is not None, f"Profiler must be initialized before {step}"
        return self.profiler

    # ---- results -------------------------------------------------------------------

    def export_chrome_trace(self, path: str, use_python_export: bool = False) -> None:
        """Write the last cycle's trace to ``path``, packed where it ends in ".gz"."""
        made = self._made("exporting chrome trace")
        made.export_chrome_trace(path, self._trace_metadata, use_python_export)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write one line per stack for a flame graph; needs ``with_stack=True``."""
        self._made("exporting stacks").export_stacks(path, metric)

    def toggle_collection_dynamic(
        self, enable: bool, activities: Iterable[ProfilerActivity]
    ) -> None:
        """Pause recording, or go on, for the activities named."""
        if self.profiler is not None:
            self.profiler.toggle_collection_dynamic(enable, activities)

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """Return one average per name, and per shapes or stack where asked for."""
        return self._made("getting key averages").key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def events(self) -> EventList:
        """Return all events of the last cycle."""
        return self._made("accessing events").function_events

    def add_metadata(self, key: str, value: str) -> None:
        """Put a text into the trace's head."""
        self._trace_metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Put a value, given as JSON, into the trace's head."""
        self._trace_metadata[key] = json.loads(value)

    def preset_metadata_json(self, key: str, value: str) -> None:
        """Put a value, given as JSON, into the head of every trace to come."""
        self.preset_metadata[key] = value

    def _stats(self) -> Any:
        return None if self.profiler is None else self.profiler._stats


class profile(_KinetoProfile):
    """Record a training loop, all of it or the steps that a schedule picks.

    Without ``schedule`` everything inside the ``with`` block is recorded. With one,
    call :meth:`step` after every step; at the end of each cycle ``on_trace_ready`` gets
    this object, to write its trace or print its table.

    >>> import gradtape as torch
    >>> x = torch.ones(2)
    >>> rows = []
    >>> with torch.profiler.profile(
    ...     schedule=torch.profiler.schedule(wait=1, warmup=1, active=1, repeat=1),
    ...     on_trace_ready=lambda prof: rows.append(len(prof.events())),
    ... ) as prof:
    ...     for _ in range(4):
    ...         x = x * 2
    ...         prof.step()
    >>> rows
    [2]
    """

    def __init__(
        self,
        *,
        activities: Activities | None = None,
        schedule: Schedule | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        use_cuda: bool | None = None,
        **options: Any,
    ) -> None:
        if use_cuda is not None:
            warnings.warn(
                "`use_cuda` is deprecated, use `activities` argument instead",
                FutureWarning,
                stacklevel=2,
            )
        activities = None if activities is None else list(activities)
        assert activities is None or activities, "No valid profiler activities found"
        super().__init__(activities=activities, **options)
        self.schedule = schedule or record_always
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.step_rec_fn: autograd_profiler.record_function | None = None
        self.current_action = self._action_at(0)
        KinetoStepTracker.init_step_count(PROFILER_STEP_NAME)

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()
        KinetoStepTracker.erase_step_count(PROFILER_STEP_NAME)
        if self.execution_trace_observer:
            self.execution_trace_observer.cleanup()

    def start(self) -> None:
        """Begin the first step."""
        self._change(ProfilerAction.NONE, self.current_action)
        self._open_step()

    def stop(self) -> None:
        """End the last step; a trace that was being recorded is handed over."""
        self._close_step()
        self._change(self.current_action, None)

    def step(self) -> None:
        """Say that the next step of the loop begins."""
        self._close_step()
        action = self._action_at(self.step_num + 1)
        before = self.current_action
        self.step_num += 1
        self.current_action = action
        self._change(before, action)
        if os.environ.get("KINETO_USE_DAEMON"):
            KinetoStepTracker.increment_step(PROFILER_STEP_NAME)
        self._open_step()

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """Let ``callback`` name the traces to come."""
        self.custom_trace_id_callback = callback

    def get_trace_id(self) -> str | None:
        """Return the name of the trace, None before there is one."""
        return None if self.profiler is None else self.profiler.trace_id

    def _action_at(self, step: int) -> ProfilerAction:
        action = self.schedule(step)
        if action is ProfilerAction.DEVICE_STOPPED:
            raise ValueError(_STOPPED_BY_USER)
        return action

    def _open_step(self) -> None:
        if self.record_steps:
            name = f"{PROFILER_STEP_NAME}#{self.step_num}"
            self.step_rec_fn = autograd_profiler.record_function(name)
            self.step_rec_fn.__enter__()

    def _close_step(self) -> None:
        if self.step_rec_fn is not None:
            self.step_rec_fn.__exit__(None, None, None)
            self.step_rec_fn = None

    def _change(self, before: ProfilerAction, after: ProfilerAction | None) -> None:
        """Do what lies between two steps: end a trace, begin another, or neither."""
        none, warm, record, save = list(ProfilerAction)[:4]
        recording = before in (record, save)
        goes_on = before is record and after in (record, save)
        if before is warm and after in (none, None):
            if after is none:
                _warn("WARMUP followed by NONE")
            self.start_trace()
            self.stop_trace()
        if recording and not goes_on:
            if before is record and after is not None:
                _warn(f"RECORD followed by {after.name}")
            self.stop_trace()
            if (before is save or after is None) and self.on_trace_ready:
                self.on_trace_ready(self)
        if after in (warm, record, save) and before is not warm and not goes_on:
            self.prepare_trace()
        if after in (record, save) and not goes_on:
            self.start_trace()


def _warn(what: str) -> None:
    warnings.warn(f"Incorrect schedule: {what}", stacklevel=user_stacklevel())


# ---- when a profiler records: what to do at each step of a training loop -----


class ProfilerAction(Enum):
    """What a profiler does during one step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    DEVICE_STOPPED = 4


Schedule = Callable[[int], ProfilerAction]


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Schedule:
    """Return a schedule: skip, then wait, warm up and record, over and over.

    After ``skip_first`` steps, cycles of ``wait + warmup + active`` steps follow:
    ``repeat`` of them, or as many as there are for 0. With ``skip_first_wait`` the
    first cycle does not wait.

    >>> import gradtape as torch
    >>> plan = torch.profiler.schedule(wait=1, warmup=1, active=2)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), "
            f"warmup={warmup} (need >= 0), active={active} (need > 0), "
            f"repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warnings.warn(
            "Profiler won't be using warmup, this can skew profiler results",
            stacklevel=2,
        )
    length = wait + warmup + active

    def action_at(step: int) -> ProfilerAction:
        assert step >= 0, f"Step must be non-negative. Got {step}."
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        if skip_first_wait:
            step += wait
        cycle, within = divmod(step, length)
        if (repeat and cycle >= repeat) or within < wait:
            return ProfilerAction.NONE
        if within < wait + warmup:
            return ProfilerAction.WARMUP
        if within < length - 1:
            return ProfilerAction.RECORD
        return ProfilerAction.RECORD_AND_SAVE

    return action_at


def record_always(step: int) -> ProfilerAction:
    """Record every step: what a profiler without a schedule does."""
    return ProfilerAction.RECORD


def tensorboard_trace_handler(
    dir_name: str,
    worker_name: str | None = None,
    use_gzip: bool = False,
    use_python_export: bool = False,
) -> Callable[[Any], None]:
    """Return an ``on_trace_ready`` that writes traces where TensorBoard looks.

    Files are named after ``worker_name``, "host_process" by default, and the time.
    """

    def handle(prof: Any) -> None:
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError("Can't create directory: " + dir_name) from error
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return handle
