"""The fast path of attention, which is the only one here."""

from __future__ import annotations


class _Fast:
    """Whether inference may take PyTorch's fast path; here nothing depends on it."""

    path = True


def get_fastpath_enabled() -> bool:
    """Return what the switch was set to."""
    return _Fast.path


def set_fastpath_enabled(value: bool) -> None:
    """Set the switch."""
    _Fast.path = value
