"""Where the storages of a file go: location tags, and ``map_location``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

from .._backend.device import device as Device
from ..ops.memory.untyped_storage import UntypedStorage

Tagger = Callable[[Any], str | None]
Deserializer = Callable[[Any, str], Any]
Restore = Callable[[UntypedStorage, str], UntypedStorage]
MAP_LOCATION: TypeAlias = (
    Callable[[Any, str], Any] | Device | str | bytes | dict[str, str] | None
)

_NO_CUDA = (
    "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() "
    "is False. If you are running on a CPU-only machine, please use torch.load with "
    "map_location=torch.device('cpu') to map your storages to the CPU."
)
_NO_SUCH_CUDA = (
    "Attempting to deserialize object on CUDA device {} but torch.cuda.device_count() "
    "is {}. Please use torch.load with map_location to map your storages to an "
    "existing device."
)

_registry: list[tuple[int, Tagger, Deserializer]] = []


def register_package(priority: int, tagger: Tagger, deserializer: Deserializer) -> None:
    """Add a kind of location; those with a lower priority are asked first.

    ``tagger(storage)`` returns the location's name, ``deserializer(storage, location)``
    a storage that is there; both return None for what is not theirs.
    """
    _registry.append((priority, tagger, deserializer))
    _registry.sort(key=lambda entry: entry[0])


def location_tag(storage: Any) -> str:
    """Return the name of the place where a storage is: ``cpu``, ``cuda:0``.

    Raises RuntimeError where no registered tagger knows it.
    """
    for _, tagger, _ in _registry:
        location = tagger(storage)
        if location:
            return location
    raise RuntimeError(f"don't know how to determine data location of {_kind(storage)}")


def default_restore_location(storage: Any, location: str) -> Any:
    """Return the storage at a location, where the first who knows the location puts it.

    Raises RuntimeError where nobody does.
    """
    for _, _, deserializer in _registry:
        found = deserializer(storage, location)
        if found is not None:
            return found
    raise RuntimeError(
        f"don't know how to restore data location of {_kind(storage)} "
        f"(tagged with {location})"
    )


def _kind(storage: Any) -> str:
    return (
        "torch.storage.UntypedStorage"
        if isinstance(storage, UntypedStorage)
        else f"{type(storage).__module__}.{type(storage).__qualname__}"
    )


def restorer(map_location: MAP_LOCATION) -> Restore:
    """Return the function that brings storages to where ``map_location`` says."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(
            storage, map_location.get(location, location)
        )
    if isinstance(map_location, str | bytes | Device):
        place = (
            map_location.decode()
            if isinstance(map_location, bytes)
            else str(map_location)
        )
        return lambda storage, location: default_restore_location(storage, place)

    def restore(storage: UntypedStorage, location: str) -> UntypedStorage:
        found = map_location(storage, location)
        return default_restore_location(storage, location) if found is None else found

    return restore


# ---- the places there are ----


def _cpu_tag(storage: Any) -> str | None:
    return "cpu" if storage.device.type == "cpu" else None


def _to_cpu(storage: Any, location: str) -> Any:
    return storage if location == "cpu" else None


def _meta_tag(storage: Any) -> str | None:
    return "meta" if storage.device.type == "meta" else None


def _to_meta(storage: Any, location: str) -> Any:
    return storage.to(device="meta") if location == "meta" else None


def _cuda_tag(storage: Any) -> str | None:
    where = storage.device
    if where.type != "cuda":
        return None
    return "cuda" if where.index is None else f"cuda:{where.index}"


def _to_cuda(storage: Any, location: str) -> Any:
    if location != "cuda" and not re.match(r"cuda(:|[0-9]+)", location):
        return None
    return storage.cuda(validate_cuda_device(location))


def validate_cuda_device(location: str) -> int:
    """Return the index of the CUDA device that a location names.

    Raises RuntimeError where there is no such device.
    """
    index = Device(location).index or 0
    count = _cuda_count()
    if not count:
        raise RuntimeError(_NO_CUDA)
    if index >= count:
        raise RuntimeError(_NO_SUCH_CUDA.format(index, count))
    return index


def _cuda_count() -> int:
    from .._backend import cupy_backend

    try:
        return int(cupy_backend().xp.cuda.runtime.getDeviceCount())
    except Exception:  # no CuPy, no driver or no device: each its own error
        return 0


register_package(10, _cpu_tag, _to_cpu)
register_package(20, _cuda_tag, _to_cuda)
register_package(22, _meta_tag, _to_meta)
