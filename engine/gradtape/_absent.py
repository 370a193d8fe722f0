"""Functions for devices that there are none of, which refuse as PyTorch does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def refusing(error: type[Exception], sentence: str) -> Callable[..., Any]:
    """Return a function that raises ``error(sentence)`` whatever it is given."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise error(sentence)

    return refuse


def nothing(*args: Any, **kwargs: Any) -> None:
    """Do nothing, as PyTorch does where it would ask a device that is absent."""


def no(*args: Any, **kwargs: Any) -> bool:
    """Answer no."""
    return False


def zero(*args: Any, **kwargs: Any) -> int:
    """Answer 0."""
    return 0
