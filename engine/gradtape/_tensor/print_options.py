"""How tensors print: `set_printoptions`, `get_printoptions`, `printoptions`."""

from __future__ import annotations

import math
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypeAlias

__all__ = ["PRINT_OPTIONS", "get_printoptions", "printoptions", "set_printoptions"]

Profile: TypeAlias = Literal["default", "short", "full"]


@dataclass(slots=True)
class PrintOptions:
    """Hold the options; PyTorch keeps one record for the whole process, so do we."""

    precision: int = 4
    """Digits after the point."""
    threshold: float = 1000
    """More elements than this are summarised."""
    edgeitems: int = 3
    """Elements shown at each end of a summarised dimension."""
    linewidth: int = 80
    """Characters per line."""
    sci_mode: bool | None = None
    """Scientific notation: yes, no, or (None) where the values ask for it."""


PRINT_OPTIONS: Final = PrintOptions()

_PROFILES: Final[dict[str, tuple[int, float, int, int]]] = {
    # precision, threshold, edgeitems, linewidth
    "default": (4, 1000, 3, 80),
    "short": (2, 1000, 2, 80),
    "full": (4, math.inf, 3, 80),
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: Profile | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Change how tensors print; an option left out keeps its value.

    A profile sets all four numbers first. `sci_mode` is the exception: left out, it
    goes back to None.
    """
    options = PRINT_OPTIONS
    if profile in _PROFILES:
        (
            options.precision,
            options.threshold,
            options.edgeitems,
            options.linewidth,
        ) = _PROFILES[profile]
    if precision is not None:
        options.precision = precision
    if threshold is not None:
        options.threshold = threshold
    if edgeitems is not None:
        options.edgeitems = edgeitems
    if linewidth is not None:
        options.linewidth = linewidth
    options.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """Return the options as keyword arguments for `set_printoptions`."""
    return asdict(PRINT_OPTIONS)


@contextmanager
def printoptions(**options: Any) -> Generator[None]:
    """Change the options inside a `with` block."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)
