"""A queue of work for any device: gradtape.Stream."""

from __future__ import annotations

from typing import Any

from . import cpu
from ._backend import cuda as _cuda
from ._backend.device import device as Device
from ._common.absent import no_device
from .cuda import streams


class Stream(cpu.Stream):
    """A queue of work for a device: the CPU runs calls in their order.

    For a CUDA device, which is the default where there is one, it is a
    :class:`gradtape.cuda.Stream`.
    """

    def __new__(cls, device: Any = None, *, priority: int = 0) -> Any:
        chosen = Device(device or ("cuda" if _cuda.is_available() else "cpu"))
        if chosen.type == "cpu":
            return super().__new__(cls)
        if chosen.type != "cuda" or not _cuda.is_available():
            raise no_device(chosen.type)
        return streams.Stream(chosen, priority)

    def __init__(self, device: Any = None, *, priority: int = 0) -> None:
        super().__init__(priority)
        self.device = Device("cpu")
