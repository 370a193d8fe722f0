"""The library KleidiAI of ARM: it is not there."""

from __future__ import annotations


def is_available() -> bool:
    """Tell whether it can be used: no."""
    return False
