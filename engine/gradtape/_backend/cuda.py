"""What CuPy says about the CUDA devices of this machine. CuPy is imported when asked.

Everything that ``gradtape.cuda`` offers goes through here, so that a machine without
CuPy answers as PyTorch does where it was built without CUDA.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

from . import cupy_backend
from .device import device as Device


class _Started:
    """Whether a program has used a device, with which PyTorch starts CUDA."""

    yet = False


def installed() -> bool:
    """Tell whether CuPy could be imported."""
    loaded: Any = sys.modules.get("cupy", ...)
    if loaded is ...:
        return importlib.util.find_spec("cupy") is not None
    return loaded is not None  # None: an import that was forbidden


def device_count() -> int:
    """Return how many devices there are; 0 without CuPy or a driver."""
    if not installed():
        return 0
    try:
        return cupy_backend().count()  # pyright: ignore[reportAttributeAccessIssue]
    except (AssertionError, RuntimeError):
        return 0


def is_available() -> bool:
    """Tell whether tensors can be on a CUDA device here."""
    return device_count() > 0


def cupy() -> Any:
    """Return CuPy's module, with a device to use.

    Raises AssertionError where CuPy is missing, RuntimeError where a device is.
    """
    found = cupy_backend().xp
    _Started.yet = True
    return found


def is_initialized() -> bool:
    """Tell whether a device has been used yet."""
    return _Started.yet


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Tell whether the current device computes in bfloat16, or emulates it."""
    if not is_available():
        return False
    properties = cupy().cuda.runtime.getDeviceProperties(current_device())
    return including_emulation or properties["major"] >= 8


def current_device() -> int:
    """Return the number of the device that new tensors go to."""
    return int(cupy().cuda.runtime.getDevice())


def index_of(device: Any = None, optional: bool = True) -> int:
    """Return the number of a device given as an int, a string or a device.

    None is the current one. Raises ValueError for a device of another type.
    """
    if device is None and optional:
        return current_device()
    if isinstance(device, int) and not isinstance(device, bool):
        return current_device() if device < 0 else device
    if not isinstance(device, str | Device):
        raise ValueError(
            f"Expected a torch.device with a specified index or an integer, but got:"
            f"{device}"
        )
    place = Device(device)
    if place.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {place}")
    return current_device() if place.index is None else place.index
