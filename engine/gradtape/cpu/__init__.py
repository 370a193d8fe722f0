"""The CPU as a device: gradtape.cpu mirrors torch.cpu, for code that serves any."""

from __future__ import annotations

import os
import platform
from typing import Any

from . import amp as amp

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "current_device",
    "current_stream",
    "device_count",
    "get_capabilities",
    "is_available",
    "is_initialized",
    "set_device",
    "stream",
    "synchronize",
]


def is_available() -> bool:
    """Tell whether there is a CPU: always.

    >>> import gradtape as torch
    >>> torch.cpu.is_available()
    True
    """
    return True


def is_initialized() -> bool:
    """Tell whether the CPU is ready: always."""
    return True


def device_count() -> int:
    """Return how many CPUs count as devices: 1."""
    return 1


def current_device() -> str:
    """Return the name of the device: "cpu"."""
    return "cpu"


def set_device(device: Any) -> None:
    """Choose the device: nothing happens."""


def synchronize(device: Any = None) -> None:
    """Wait for the CPU: nothing happens."""


def get_capabilities() -> dict[str, Any]:
    """Return what is known of the processor."""
    return {
        "architecture": platform.machine(),
        "num_logical_cores": os.cpu_count(),
    }


class Stream:
    """Stands for the order of calls, which is all there is on the CPU."""

    def __init__(self, priority: int = -1) -> None: ...

    def wait_stream(self, stream: Any) -> None:
        """Wait for another stream: nothing happens."""

    def record_event(self) -> None:
        """Mark a moment: nothing happens."""

    def wait_event(self, event: Any) -> None:
        """Wait for an event: nothing happens."""


class Event:
    """Stands for a moment in a stream; it is always over."""

    def query(self) -> bool:
        """Tell whether it is over."""
        return True

    def record(self, stream: Any = None) -> None:
        """Mark a moment: nothing happens."""

    def synchronize(self) -> None:
        """Wait for it: nothing happens."""

    def wait(self, stream: Any = None) -> None:
        """Let a stream wait: nothing happens."""


_default_stream = Stream()


class StreamContext:
    """A block in a stream; nothing changes."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> None: ...

    def __exit__(self, *exc: object) -> None: ...


def stream(stream: Any) -> StreamContext:
    """Return a block in a stream; nothing changes."""
    return StreamContext(stream)


def current_stream(device: Any = None) -> Stream:
    """Return the one stream."""
    return _default_stream
