"""Which CUDA devices there are, which one is current, and what each of them is."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from .._backend import cuda as _cuda
from .._backend.device import device as Device
from .._tensor.tensor import Tensor


@dataclass(frozen=True)
class _CudaDeviceProperties:
    """What the driver says about a device."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    is_integrated: int
    is_multi_gpu_board: int
    max_threads_per_block: int
    max_threads_per_multi_processor: int
    regs_per_multiprocessor: int
    shared_memory_per_block: int
    shared_memory_per_multiprocessor: int
    warp_size: int
    L2_cache_size: int
    clock_rate: int
    memory_clock_rate: int
    memory_bus_width: int
    uuid: str

    def __repr__(self) -> str:
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, "
            f"minor={self.minor}, total_memory={self.total_memory >> 20}MB, "
            f"multi_processor_count={self.multi_processor_count}, uuid={self.uuid}, "
            f"L2_cache_size={self.L2_cache_size >> 20}MB)"
        )


_OTHER_NAMES = {
    "total_memory": "totalGlobalMem",
    "is_integrated": "integrated",
    "shared_memory_per_multiprocessor": "sharedMemPerMultiprocessor",
    "shared_memory_per_block": "sharedMemPerBlock",
    "L2_cache_size": "l2CacheSize",
}
"""The fields that are not simply the driver's names in another spelling."""


def _drivers_name(field: str) -> str:
    first, *rest = field.split("_")
    camel = first + "".join(word.capitalize() for word in rest)
    return camel.replace("Multiprocessor", "MultiProcessor")


def get_device_properties(device: Any = None) -> _CudaDeviceProperties:
    """Return name, memory and compute capability of a device."""
    xp = _cuda.cupy()
    index = _cuda.index_of(device)
    if not 0 <= index < _cuda.device_count():
        raise AssertionError("Invalid device id")
    found = xp.cuda.runtime.getDeviceProperties(index)
    known: dict[str, Any] = {}
    for field in fields(_CudaDeviceProperties):
        name = _OTHER_NAMES.get(field.name, _drivers_name(field.name))
        known[field.name] = found.get(name, 0)
    known["name"] = _text(found["name"])
    known["uuid"] = _uuid(found.get("uuid", b""))
    return _CudaDeviceProperties(**known)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _uuid(raw: Any) -> str:
    digits = bytes(raw).hex() if isinstance(raw, bytes) else str(raw)
    parts = digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]
    return "-".join(part for part in parts if part)


def get_device_name(device: Any = None) -> str:
    """Return the name of a device."""
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Return the compute capability of a device, as (major, minor)."""
    found = get_device_properties(device)
    return found.major, found.minor


def set_device(device: Any) -> None:
    """Make a device the current one."""
    index = _cuda.index_of(device)
    if index >= 0:
        _cuda.cupy().cuda.runtime.setDevice(index)


def synchronize(device: Any = None) -> None:
    """Wait until everything asked of a device is done."""
    xp = _cuda.cupy()
    xp.cuda.Device(_cuda.index_of(device)).synchronize()


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Tell whether one device can read the memory of another."""
    xp = _cuda.cupy()
    one, other = _cuda.index_of(device), _cuda.index_of(peer_device)
    return bool(xp.cuda.runtime.deviceCanAccessPeer(one, other))


class device:
    """Make a device the current one inside the block; None or -1 changes nothing."""

    def __init__(self, device: Any) -> None:
        if device is None or (isinstance(device, int) and device < 0):
            self.idx = -1
        elif isinstance(device, int):
            self.idx = device
        else:
            place = Device(device)
            self.idx = -1 if place.type != "cuda" else _cuda.index_of(place)
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            self.prev_idx = _cuda.current_device()
            set_device(self.idx)

    def __exit__(self, *exc: object) -> None:
        if self.idx >= 0:
            set_device(self.prev_idx)


class device_of(device):
    """Make the device of a tensor the current one; a host tensor changes nothing."""

    def __init__(self, obj: Tensor) -> None:
        super().__init__(obj.device.index if obj.is_cuda else None)
