"""Apple's devices: there are none here."""

from __future__ import annotations

__all__ = [
    "get_core_count",
    "get_name",
    "is_available",
    "is_built",
    "is_macos13_or_newer",
    "is_macos_or_newer",
]

_NONE = "Cannot execute {name}() without MPS backend."


def is_available() -> bool:
    """Tell whether tensors can be on an Apple device: no.

    >>> import gradtape as torch
    >>> torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    device(type='cpu')
    """
    return False


def is_built() -> bool:
    """Tell whether Apple devices are supported: no."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Tell about the system of the device; raises RuntimeError without one."""
    raise RuntimeError(_NONE.format(name="isOnMacOSorNewer"))


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Tell about the system of the device; raises RuntimeError without one."""
    return is_macos_or_newer(13, minor)


def get_name() -> str:
    """Return the name of the device; raises RuntimeError without one."""
    raise RuntimeError(_NONE.format(name="getName"))


def get_core_count() -> int:
    """Return how many cores the device has; raises RuntimeError without one."""
    raise RuntimeError(_NONE.format(name="getCoreCount"))
