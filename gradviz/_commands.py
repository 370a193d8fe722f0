"""Commands that print what a recording says: ``gradviz ledger``."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable
from typing import Any

_WIDEST = 160  # columns of a table that goes into a file or a pipe


def add_commands(commands: Any) -> None:
    """Add the parsers of these commands to those of the command line."""
    ledger = commands.add_parser(
        "ledger", help="list what a recording saved, and every NaN and Inf"
    )
    ledger.add_argument("file", metavar="FILE", help="a .gradviz.json file or a page")
    ledger.add_argument(
        "--limit",
        type=_not_negative,
        metavar="N",
        help="print at most N rows of each table; default: all",
    )


def _ledger(options: argparse.Namespace) -> int:
    from gradviz._ledger import ledger_of
    from gradviz.export import load

    ledger = ledger_of(load(options.file))
    print(ledger.to_text(limit=options.limit, width=_width()))
    return 0


def _width() -> int:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else _WIDEST


def _not_negative(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
    return number


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {"ledger": _ledger}
