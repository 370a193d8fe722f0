"""The accelerator, whichever it is; here CUDA or none: gradtape.accelerator."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from ._backend import cuda as _cuda
from ._backend.device import device as Device
from ._common.site import user_stacklevel
from .cuda import _devices, memory, streams

NONE = "Cannot access accelerator device when none is available."


def _with_one(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function; what it returns raises RuntimeError without a device."""

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if not _cuda.is_available():
            raise RuntimeError(NONE)
        return function(*args, **kwargs)

    return checked


def _renamed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function under its older name, deprecated as in PyTorch."""

    def older(*args: Any) -> Any:
        new = f"Use `{function.__name__}` instead."
        warnings.warn(new, FutureWarning, stacklevel=user_stacklevel())
        return function(*args)

    return older


def is_available() -> bool:
    """Tell whether there is one.

    >>> import gradtape as torch
    >>> torch.accelerator.is_available() == torch.cuda.is_available()
    True
    """
    return _cuda.is_available()


def device_count() -> int:
    """Return how many there are."""
    return _cuda.device_count()


def current_accelerator(check_available: bool = False) -> Device | None:
    """Return its type as a device without a number, None where there is none."""
    return Device("cuda") if _cuda.is_available() else None


@_with_one
def current_device_index() -> int:
    """Return the number of the current one."""
    return _cuda.current_device()


@_with_one
def set_device_index(device: Any, /) -> None:
    """Choose the current one."""
    _devices.set_device(device)


@_with_one
def get_device_capability(device: Any = None, /) -> dict[str, Any]:
    """Return what the device supports."""
    return {"compute_capability": _devices.get_device_capability(device)}


class device_index(_devices.device):
    """Choose the current device for the length of a block; None changes nothing."""


current_device_idx = _renamed(current_device_index)
set_device_idx = _renamed(set_device_index)
current_stream = _with_one(streams.current_stream)
set_stream = _with_one(streams.set_stream)
synchronize = _with_one(_devices.synchronize)
empty_cache = _with_one(memory.empty_cache)
memory_allocated = _with_one(memory.memory_allocated)
memory_reserved = _with_one(memory.memory_reserved)
max_memory_allocated = _with_one(memory.max_memory_allocated)
max_memory_reserved = _with_one(memory.max_memory_reserved)
reset_peak_memory_stats = _with_one(memory.reset_peak_memory_stats)
memory_stats = _with_one(memory.memory_stats)
