"""Warnings that PyTorch gives once per process, not once per line."""

from __future__ import annotations

import warnings

_given: set[str] = set()


def warn_once(message: str, stacklevel: int = 3) -> None:
    """Give a UserWarning the first time it is due, and never again."""
    if message not in _given:
        _given.add(message)
        warnings.warn(message, UserWarning, stacklevel=stacklevel + 1)
