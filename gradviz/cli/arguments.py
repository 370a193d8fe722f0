"""What commands share: options that they accept, and colours of their answers."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

RECORDING = "a .gradviz.json file or a page"


def at_least(least: int) -> Callable[[str], int]:
    """Return the reader of an option that is a whole number, not below ``least``.

    >>> at_least(1)("4")
    4
    """

    def read(text: str) -> int:
        with suppress(ValueError):
            if (number := int(text)) >= least:
                return number
        raise argparse.ArgumentTypeError(
            f"{text} is not a whole number from {least} on"
        )

    return read


def above_one(text: str) -> float:
    """Read an option that is a factor."""
    with suppress(ValueError):
        if (number := float(text)) > 1:
            return number
    raise argparse.ArgumentTypeError(f"{text} is not a number above 1")


def wants_color(stream: TextIO | None) -> bool:
    """Tell whether a stream is a terminal whose user did not switch colours off."""
    with suppress(ValueError):  # a script has closed it
        return stream is not None and stream.isatty() and "NO_COLOR" not in os.environ
    return False
