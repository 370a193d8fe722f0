"""When a profiler records: what to do at each step of a training loop."""

from __future__ import annotations

import os
import socket
import time
import warnings
from collections.abc import Callable
from enum import Enum
from typing import Any


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
