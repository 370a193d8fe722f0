"""numba with this room's settings; importing this file imports it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba  # type: ignore[import-not-found]

F = TypeVar("F", bound=Callable[..., Any])

_njit: Any = numba.njit

# A product and a sum may be rounded once together, and numbers are divided by zero as
# NumPy divides them. No other licence: what is NaN or infinite stays so.
_HOW = {"error_model": "numpy", "fastmath": {"contract"}}

_SUMMING = {**_HOW, "fastmath": {"contract", "reassoc"}}
"""With sums in any order: one after the other, they would not become vectors."""


class Kernel:
    """A function of arrays, compiled for one signature when it is first asked for."""

    def __init__(
        self, signature: str, function: Callable[..., Any], how: dict[str, Any]
    ) -> None:
        self.signature = f"void({signature})"
        self.function = function
        self.how = how

    def compiled(self) -> Callable[..., Any]:
        """Compile the function, or read what an earlier process has compiled."""
        try:
            return _njit(self.signature, cache=True, **self.how)(self.function)
        except RuntimeError:  # no folder to keep it in: every process compiles anew
            return _njit(self.signature, **self.how)(self.function)


def kernel(
    signature: str, sums: bool = False
) -> Callable[[Callable[..., Any]], Kernel]:
    """Declare a kernel by the types of its arguments, as numba writes them.

    One that ``sums`` adds up in any order.
    """
    how = _SUMMING if sums else _HOW
    return lambda function: Kernel(signature, function, how)


def inlined(function: F) -> F:
    """Let kernels call a function of numbers; it becomes part of their loops."""
    return _njit(inline="always", **_HOW)(function)
