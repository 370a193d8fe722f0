"""What the options of commands accept, and the words that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import suppress

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
