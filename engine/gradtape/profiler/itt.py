"""Ranges for Intel's VTune. There is no binding to ITT here: all but asking fails."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, NoReturn

from ..autograd._profiler.nvtx import NO_ITT


def is_available() -> bool:
    """Tell whether ranges can be announced to ITT: never."""
    return False


def range_push(msg: str) -> NoReturn:
    """Open a range. Raises RuntimeError."""
    raise RuntimeError(NO_ITT)


def range_pop() -> NoReturn:
    """Close a range. Raises RuntimeError."""
    raise RuntimeError(NO_ITT)


def mark(msg: str) -> NoReturn:
    """Announce a moment. Raises RuntimeError."""
    raise RuntimeError(NO_ITT)


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Generator[None]:
    """Announce a block of code. Raises RuntimeError."""
    range_push(msg.format(*args, **kwargs))
    yield


__all__ = ["is_available", "mark", "range", "range_pop", "range_push"]
