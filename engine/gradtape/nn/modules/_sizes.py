"""Sizes given as one number or one per dimension."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Sizes = tuple[int, ...]


def ntuple(value: Any, count: int) -> Sizes:
    """Return one number per dimension; what is iterable is taken as it is."""
    return tuple(value) if isinstance(value, Iterable) else (value,) * count


def repeated_reversed(sizes: Sizes, times: int) -> Sizes:
    """Return each size ``times`` times, last dimension first, as ``pad`` wants it."""
    return tuple(size for size in reversed(sizes) for _ in range(times))
