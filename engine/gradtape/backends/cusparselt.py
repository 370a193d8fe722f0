"""NVIDIA's library cuSPARSELt: it is not there."""

from __future__ import annotations


def is_available() -> bool:
    """Tell whether it can be used: no."""
    return False


def version() -> int | None:
    """Return its version: there is none."""
    return None


def get_max_alg_id() -> int | None:
    """Return the number of its last algorithm: there is none."""
    return None
