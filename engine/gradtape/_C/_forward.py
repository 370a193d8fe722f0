"""Switches of forward mode and of vmap, as ``torch._C`` names them."""

from __future__ import annotations

from typing import Any

from .._forward_mode.dual import enable
from .._forward_mode.dual import is_enabled as is_enabled
from .._modes.transforms import active

set_enabled = enable


class _FallbackWarnings:
    """Whether vmap says where it runs an op example by example: here, always.

    The switch is kept for programs that set it back; nobody is warned.
    """

    on = True


def fallback_warnings_enabled() -> bool:
    """Tell what the switch was set to."""
    return _FallbackWarnings.on


def display_fallback_warnings(enabled: bool) -> None:
    """Set the switch."""
    _FallbackWarnings.on = enabled


def transforms_active(*_args: Any) -> bool:
    """Tell whether the thread is inside a transformed function."""
    return bool(active.depth)
