"""The accelerator, whichever it is; here CUDA or none: gradtape.accelerator."""

from __future__ import annotations

import warnings
from typing import Any

from . import cpu
from ._backend import cuda as _cuda
from ._backend.device import device as Device
from ._common.absent import no_device
from ._common.site import user_stacklevel
from .cuda import _devices, memory, streams

NONE = "Cannot access accelerator device when none is available."


def _required() -> None:
    if not _cuda.is_available():
        raise RuntimeError(NONE)


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


def current_device_index() -> int:
    """Return the number of the current one. Raises RuntimeError without one."""
    _required()
    return _cuda.current_device()


def current_device_idx() -> int:
    """Deprecated, as in PyTorch: use :func:`current_device_index`."""
    _renamed("current_device_index")
    return current_device_index()


def set_device_index(device: Any, /) -> None:
    """Choose the current one. Raises RuntimeError without one."""
    _required()
    _devices.set_device(device)


def set_device_idx(device: Any, /) -> None:
    """Deprecated, as in PyTorch: use :func:`set_device_index`."""
    _renamed("set_device_index")
    set_device_index(device)


def _renamed(name: str) -> None:
    warnings.warn(f"Use `{name}` instead.", FutureWarning, stacklevel=user_stacklevel())


def get_device_capability(device: Any = None, /) -> dict[str, Any]:
    """Return what the device supports. Raises RuntimeError without one."""
    _required()
    return {"compute_capability": _devices.get_device_capability(device)}


def current_stream(device: Any = None, /) -> streams.Stream:
    """Return the stream that work goes to. Raises RuntimeError without a device."""
    _required()
    return streams.current_stream(device)


def set_stream(stream: streams.Stream) -> None:
    """Choose the stream that work goes to. Raises RuntimeError without a device."""
    _required()
    streams.set_stream(stream)


def synchronize(device: Any = None, /) -> None:
    """Wait until everything is done. Raises RuntimeError without a device."""
    _required()
    _devices.synchronize(device)


class device_index(_devices.device):
    """Choose the current device for the length of a block; None changes nothing."""


def empty_cache() -> None:
    """Give memory that nobody uses back. Raises RuntimeError without a device."""
    _required()
    memory.empty_cache()


def memory_allocated(device_index: Any = None, /) -> int:
    """Return the bytes in use. Raises RuntimeError without a device."""
    _required()
    return memory.memory_allocated(device_index)


def memory_reserved(device_index: Any = None, /) -> int:
    """Return the bytes held. Raises RuntimeError without a device."""
    _required()
    return memory.memory_reserved(device_index)


def max_memory_allocated(device_index: Any = None, /) -> int:
    """Return the most bytes in use. Raises RuntimeError without a device."""
    _required()
    return memory.max_memory_allocated(device_index)


def max_memory_reserved(device_index: Any = None, /) -> int:
    """Return the most bytes held. Raises RuntimeError without a device."""
    _required()
    return memory.max_memory_reserved(device_index)


def reset_peak_memory_stats(device_index: Any = None, /) -> None:
    """Count the most bytes anew. Raises RuntimeError without a device."""
    _required()
    memory.reset_peak_memory_stats(device_index)


def memory_stats(device_index: Any = None, /) -> dict[str, Any]:
    """Return the figures by name. Raises RuntimeError without a device."""
    _required()
    return memory.memory_stats(device_index)


class Stream(cpu.Stream):
    """A queue of work for a device: the CPU runs calls in their order.

    For a CUDA device, which is the default where there is one, it is a
    :class:`gradtape.cuda.Stream`.
    """

    def __new__(cls, device: Any = None, *, priority: int = 0) -> Any:
        chosen = Device(device or current_accelerator() or "cpu")
        if chosen.type == "cpu":
            return super().__new__(cls)
        if chosen.type != "cuda" or not _cuda.is_available():
            raise no_device(chosen.type)
        return streams.Stream(chosen, priority)

    def __init__(self, device: Any = None, *, priority: int = 0) -> None:
        super().__init__(priority)
        self.device = Device("cpu")
