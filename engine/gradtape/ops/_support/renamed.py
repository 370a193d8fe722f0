"""Functions of one signature that are made row by row: each with its own name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

K = TypeVar("K", bound=Callable[..., Any])


def renamed(name: str, doc: str) -> Callable[[K], K]:
    """Give a function a name and a docstring, as if it had been written with them."""

    def give(function: K) -> K:
        function.__name__ = function.__qualname__ = name
        function.__doc__ = doc
        return function

    return give
