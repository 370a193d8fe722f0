"""Commands that print what recordings say: ``gradviz ledger``, ``gradviz diff``."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gradviz._arguments import RECORDING, above_one, at_least
from gradviz._compare import FACTOR

_WIDEST = 160  # columns of a table that goes into a file or a pipe


def add_commands(commands: Any) -> None:
    """Add the parsers of these commands to those of the command line."""
    ledger = commands.add_parser(
        "ledger", help="list what a recording saved, and every NaN and Inf"
    )
    ledger.add_argument("file", metavar="FILE", help=RECORDING)
    ledger.add_argument(
        "--limit",
        type=at_least(0),
        metavar="N",
        help="print at most N rows of each table; default: all",
    )
    diff = commands.add_parser(
        "diff",
        help="compare two recordings, or two passes of one",
        description=_DIFF,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    diff.add_argument("before", metavar="A", help=RECORDING)
    diff.add_argument("after", metavar="B", nargs="?", help="default: A again")
    diff.add_argument(
        "--passes",
        type=int,
        nargs=2,
        metavar=("I", "J"),
        help="which backward pass of each, from 0, or from the end with -1, -2, …; "
        "default: the last of both; of A alone, the last and the first from its line",
    )
    diff.add_argument(
        "--factor",
        type=above_one,
        default=FACTOR,
        metavar="F",
        help=f"a gradient norm F times as large is a change; default: {FACTOR:g}",
    )
    diff.add_argument(
        "--html", type=Path, metavar="OUT", help="write a page with both graphs, marked"
    )


_DIFF = """\
Prints the operations that were added (+), removed (-) and changed (~): in shape, dtype,
arguments, wiring, hooks, saved tensors or gradient. Exit status: 0 if the graphs are
the same, 1 if they differ, 2 if there is a problem.
"""


def _ledger(options: argparse.Namespace) -> int:
    from gradviz._ledger import ledger_of
    from gradviz.export import load

    ledger = ledger_of(load(options.file))
    print(ledger.to_text(limit=options.limit, width=_width()))
    return 0


def _diff(options: argparse.Namespace) -> int:
    from gradviz._diff import diff
    from gradviz.export import export_html, load

    before = load(options.before)
    after = None if options.after is None else load(options.after)
    chosen = None if options.passes is None else tuple(options.passes)
    found = diff(before, after, passes=chosen, factor=options.factor)
    print(found.to_text(width=_width()))
    if options.html is not None:
        print(f"Page: {export_html(found, options.html).resolve()}")
    return int(bool(found))


def _width() -> int:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else _WIDEST


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "ledger": _ledger,
    "diff": _diff,
}
