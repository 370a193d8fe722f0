"""A stand-in for the module CuPy, over NumPy; see standin_arrays for what it is not."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.special

from gradtape import _backend
from gradtape._backend import cuda as _cuda
from gradtape._dispatch import declare as _define
from gradtape.cuda import memory

from .standin_arrays import LACKING, Device, ndarray, on_device, over

PLAIN = (*("dtype", "finfo", "iinfo", "generic", "broadcast_shapes"),)
"""What CuPy has from NumPy itself."""


class Lifted:
    """A function, ufunc or module of NumPy, for device arrays."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __call__(self, *args: Any, **named: Any) -> Any:
        return on_device(self._inner, args, named)

    def __getattr__(self, name: str) -> Any:
        return Lifted(getattr(self._inner, name))


class StandIn(ModuleType):
    """The module itself."""

    ndarray = ndarray
    __version__ = "14.0.0"

    def __init__(self, log: list[Any]) -> None:
        super().__init__("cupy")
        self.pool = Pool()
        self.cuda = driver(log)

    def asarray(self, value: Any, dtype: Any = None, **_: Any) -> Any:
        if isinstance(value, ndarray):
            return value if dtype is None else value.astype(dtype, copy=False)
        return over(np.array(value, dtype))

    array = asarray

    def asnumpy(self, value: Any) -> Any:
        return value.get()

    def get_default_memory_pool(self) -> Pool:
        return self.pool

    def __getattr__(self, name: str) -> Any:
        if name in LACKING or name.startswith("__"):
            raise AttributeError(f"module 'cupy' has no attribute '{name}'")
        found = getattr(np, name)
        if name in PLAIN or isinstance(found, type | float) or found is None:
            return found
        return Lifted(found)


class Companion(ModuleType):
    """A module of ``cupyx.scipy``: SciPy's functions for device arrays."""

    def __init__(self, name: str, inner: Any, lacking: tuple[str, ...] = ()) -> None:
        super().__init__(name)
        self._inner, self._lacking = inner, lacking

    def __getattr__(self, name: str) -> Any:
        if name in self._lacking or name.startswith("__"):
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        return Lifted(getattr(self._inner, name))


def put_in_place(patch: pytest.MonkeyPatch) -> list[Any]:
    """Let programs find the stand-in as CuPy; return what its driver is asked."""
    log: list[Any] = []
    special = Companion("cupyx.scipy.special", scipy.special, ("airy", "spherical_jn"))
    fft = Companion("cupyx.scipy.fft", scipy.fft)
    both = ModuleType("cupyx.scipy")
    both.special, both.fft = special, fft  # type: ignore[attr-defined]
    for module in (StandIn(log), ModuleType("cupyx"), both, special, fft):
        patch.setitem(sys.modules, module.__name__, module)
    patch.delitem(sys.modules, "gradtape._backend._cupy", raising=False)
    patch.setattr(_backend, "_BY_TYPE", dict(_backend._BY_TYPE))
    patch.setattr(_define, "_raw_ops", dict(_define._raw_ops))
    patch.setattr(_cuda._Started, "yet", False)
    patch.setattr(memory, "_peaks", memory._Peaks())
    return log


def remove() -> None:
    """Forget the backend that was made over the stand-in."""
    sys.modules.pop("gradtape._backend._cupy", None)


class Pool:
    """A memory pool with figures that tests set."""

    used, held, limit = 100, 400, 0.0

    def used_bytes(self) -> int:
        return self.used

    def total_bytes(self) -> int:
        return self.held

    def free_all_blocks(self) -> None:
        self.held = self.used

    def set_limit(self, fraction: float) -> None:
        self.limit = fraction


class CUDARuntimeError(RuntimeError):
    """What the driver says when something is missing."""


class Stream:
    """A stream that writes down what is asked of it."""

    null: Stream

    def __init__(
        self, null: bool = False, non_blocking: bool = False, ptr: int = 0
    ) -> None:
        self.ptr = ptr or (0 if null else id(self))
        self.done = True

    def __enter__(self) -> Stream:
        self.log.append("enter")
        return self

    def __exit__(self, *exc: object) -> None:
        self.log.append("exit")

    def use(self) -> None:
        self.log.append("use")

    def synchronize(self) -> None:
        self.log.append("synchronize")

    def wait_event(self, event: Event) -> None:
        self.log.append("wait")

    def is_capturing(self) -> bool:
        return False

    log: list[Any]


class Event:
    """An event that writes down what is asked of it."""

    log: list[Any]

    def __init__(
        self,
        block: bool = False,
        disable_timing: bool = False,
        interprocess: bool = False,
    ) -> None:
        self.timed, self.done, self.ptr = not disable_timing, True, 7

    def record(self, stream: Any = None) -> None:
        self.log.append("record")

    def synchronize(self) -> None:
        self.log.append("event")


class MemoryHook:
    """What CuPy calls around allocations."""

    opened: list[Any]

    def __enter__(self) -> MemoryHook:
        self.opened.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        self.opened.remove(self)


PROPERTIES = {
    "name": b"Stand-in",
    "major": 9,
    "minor": 0,
    "totalGlobalMem": 80 << 20,
    "multiProcessorCount": 132,
    "l2CacheSize": 50 << 20,
    "uuid": bytes(range(16)),
}


def driver(log: list[Any]) -> SimpleNamespace:
    """Return ``cupy.cuda`` with one device; ``log`` hears of streams and settings."""
    stream = type("Stream", (Stream,), {"log": log})
    stream.null = stream(null=True)
    runtime = SimpleNamespace(
        CUDARuntimeError=CUDARuntimeError,
        getDeviceCount=lambda: 1,
        getDevice=lambda: 0,
        setDevice=lambda index: log.append(("device", index)),
        getDeviceProperties=lambda index: PROPERTIES,
        memGetInfo=lambda: (3, 8),
        deviceCanAccessPeer=lambda one, other: one != other,
        runtimeGetVersion=lambda: 12090,
    )
    nvtx = SimpleNamespace(
        RangePush=lambda text: log.append(("push", text)),
        RangePop=lambda: log.append("pop"),
        Mark=lambda text: log.append(("mark", text)),
    )
    return SimpleNamespace(
        runtime=runtime,
        nvtx=nvtx,
        Device=Device,
        Stream=stream,
        ExternalStream=lambda ptr, device: stream(ptr=ptr),
        Event=type("Event", (Event,), {"log": log}),
        MemoryHook=type("MemoryHook", (MemoryHook,), {"opened": []}),
        get_current_stream=lambda: stream.null,
        get_elapsed_time=lambda start, end: 2.5,
    )
