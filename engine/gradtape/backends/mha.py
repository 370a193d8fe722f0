"""The fast path of attention: one call in evaluation without gradients."""

from __future__ import annotations


class _Fast:
    """Whether evaluation may take the fast path."""

    path = True


def get_fastpath_enabled() -> bool:
    """Return what the switch was set to."""
    return _Fast.path


def set_fastpath_enabled(value: bool) -> None:
    """Set the switch."""
    _Fast.path = value
