"""How much memory of a CUDA device is in use, as CuPy's memory pool counts it.

The pool knows what is in use and what it holds. The highest figures are counted by a
hook, in the thread that asks for them and from the first time it asks.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import Any

from .._backend import cuda as _cuda
from .._common.site import user_stacklevel
from ._devices import device as device_block


def _pool() -> Any:
    return _cuda.cupy().get_default_memory_pool()


class _Peaks:
    """The highest figures of each device, once somebody has asked for them."""

    def __init__(self) -> None:
        self.hook: Any = None
        self.used: dict[int, int] = {}
        self.held: dict[int, int] = {}

    def watch(self) -> None:
        """Count from now on, unless that has begun."""
        if self.hook is None:
            self.hook = _made_hook(_cuda.cupy().cuda.MemoryHook, self)
            self.hook.__enter__()
        self.note(_cuda.current_device())

    def note(self, device: int) -> None:
        """Look at the pool of a device."""
        pool = _pool()
        self.used[device] = max(self.used.get(device, 0), pool.used_bytes())
        self.held[device] = max(self.held.get(device, 0), pool.total_bytes())

    def reset(self) -> None:
        """Count anew."""
        self.used.clear()
        self.held.clear()
        self.watch()


_peaks = _Peaks()


def _made_hook(base: Any, peaks: _Peaks) -> Any:
    class PeakHook(base):  # CuPy's class, which is known only now
        """Looks at the pool whenever memory was taken from it."""

        name = "gradtape peaks"

        def malloc_postprocess(self, **about: Any) -> None:
            peaks.note(about["device_id"])

    return PeakHook()


def _of_pool(figure: str, device: Any) -> int:
    if not _cuda.is_available():
        return 0
    with device_block(_cuda.index_of(device)):
        return int(getattr(_pool(), figure)())


def memory_allocated(device: Any = None) -> int:
    """Return the bytes that arrays occupy; 0 without CUDA.

    >>> import gradtape as torch
    >>> torch.cuda.memory_allocated() == 0 or torch.cuda.is_available()
    True
    """
    return _of_pool("used_bytes", device)


def memory_reserved(device: Any = None) -> int:
    """Return the bytes that the pool holds, in use or not; 0 without CUDA."""
    return _of_pool("total_bytes", device)


def max_memory_allocated(device: Any = None) -> int:
    """Return the highest memory_allocated() since counting began."""
    if not _cuda.is_available():
        return 0
    with device_block(_cuda.index_of(device)):
        _peaks.watch()
        return _peaks.used[_cuda.current_device()]


def max_memory_reserved(device: Any = None) -> int:
    """Return the highest memory_reserved() since counting began."""
    if not _cuda.is_available():
        return 0
    with device_block(_cuda.index_of(device)):
        _peaks.watch()
        return _peaks.held[_cuda.current_device()]


def reset_peak_memory_stats(device: Any = None) -> None:
    """Count the highest figures anew, from what is in use now."""
    _cuda.cupy()  # refuses where there is no CUDA
    with device_block(_cuda.index_of(device)):
        _peaks.reset()


def reset_max_memory_allocated(device: Any = None) -> None:
    """Deprecated, as in PyTorch: use :func:`reset_peak_memory_stats`."""
    warnings.warn(
        "torch.cuda.reset_max_memory_allocated now calls "
        "torch.cuda.reset_peak_memory_stats, which resets /all/ peak memory stats.",
        FutureWarning,
        stacklevel=user_stacklevel(),
    )
    reset_peak_memory_stats(device)


def empty_cache() -> None:
    """Give memory that the pool holds and nobody uses back; nothing without CUDA."""
    if _cuda.is_available():
        _pool().free_all_blocks()


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Return the free and the whole memory of a device in bytes."""
    xp = _cuda.cupy()
    with device_block(_cuda.index_of(device)):
        free, total = xp.cuda.runtime.memGetInfo()
    return int(free), int(total)


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Let this process use at most a part, 0 to 1, of a device's memory."""
    _cuda.cupy()
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    with device_block(_cuda.index_of(device)):
        _pool().set_limit(fraction=fraction)


def memory_stats(device: Any = None) -> OrderedDict[str, int]:
    """Return the figures by PyTorch's names; empty without CUDA."""
    found: OrderedDict[str, int] = OrderedDict()
    if _cuda.is_available():
        found["allocated_bytes.all.current"] = memory_allocated(device)
        found["allocated_bytes.all.peak"] = max_memory_allocated(device)
        found["reserved_bytes.all.current"] = memory_reserved(device)
        found["reserved_bytes.all.peak"] = max_memory_reserved(device)
    return found


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """Return the figures as a table.

    >>> import gradtape as torch
    >>> "Allocated memory" in torch.cuda.memory_summary()
    True
    """
    rows = (
        ("Allocated memory", memory_allocated(device), max_memory_allocated(device)),
        ("Reserved memory", memory_reserved(device), max_memory_reserved(device)),
    )
    line = "|" + "=" * 60 + "|"
    lines = [line, f"| {'Metric':<20} | {'Cur Usage':>16} | {'Peak Usage':>16} |", line]
    lines += [
        f"| {name:<20} | {now >> 10:>12} KiB | {peak >> 10:>12} KiB |"
        for name, now, peak in rows
    ]
    return "\n".join([*lines, line])


def memory_cached(device: Any = None) -> int:
    """Deprecated, as in PyTorch: use :func:`memory_reserved`."""
    _renamed("memory_cached", "memory_reserved")
    return memory_reserved(device)


def max_memory_cached(device: Any = None) -> int:
    """Deprecated, as in PyTorch: use :func:`max_memory_reserved`."""
    _renamed("max_memory_cached", "max_memory_reserved")
    return max_memory_reserved(device)


def _renamed(old: str, new: str) -> None:
    warnings.warn(
        f"`torch.cuda.{old}` has been renamed to `torch.cuda.{new}`",
        FutureWarning,
        stacklevel=user_stacklevel(),
    )
