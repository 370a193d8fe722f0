"""Marks for functions that write ops for PyTorch's older exporter; none is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def parse_args(*arg_descriptors: str) -> Callable[[F], F]:
    """Say of which kind the arguments are: nothing happens."""
    return lambda fn: fn
