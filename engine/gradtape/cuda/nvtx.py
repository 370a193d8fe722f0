"""NVTX ranges, by which NVIDIA's profilers name stretches of time."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from .._backend import cuda as _cuda

__all__ = ["mark", "range", "range_pop", "range_push"]

NO_NVTX = "NVTX functions not installed. Are you sure you have a CUDA build?"


def _nvtx() -> Any:
    if not _cuda.is_available():
        raise RuntimeError(NO_NVTX)
    return _cuda.cupy().cuda.nvtx


def range_push(msg: str) -> None:
    """Begin a range; ranges nest."""
    _nvtx().RangePush(msg)


def range_pop() -> None:
    """End the range that began last."""
    _nvtx().RangePop()


def mark(msg: str) -> None:
    """Mark a moment."""
    _nvtx().Mark(msg)


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Generator[None]:
    """Name the time that the block takes; ``msg`` is formatted with the rest."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
