"""Commands that print: ``gradviz explain``, ``show``, ``ledger`` and ``diff``."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from gradviz.analysis.compare import FACTOR
from gradviz.cli.arguments import RECORDING, above_one, at_least, wants_color
from gradviz.errors import GradvizError

_WIDEST = 160  # columns of a table that goes into a file or a pipe

_EXPLAIN = """\
Prints what a finding means: what the rule looks for, why that is bad, an example, what
to write instead, and where it stays quiet. Without a code, lists all findings.
"""

_SHOW = """\
Opens a recording in the browser; where there is no browser, prints it as a table.
"""

_LEDGER = """\
Prints every saved tensor of a recording, with the operation that keeps it and its size,
and every NaN and Inf: where it was born, what passed it on, where it ended.
"""

_DIFF = """\
Prints the operations that were added (+), removed (-) and changed (~): in shape, dtype,
arguments, wiring, hooks, saved tensors or gradient. Exit status: 0 if the graphs are
the same, 1 if they differ, 2 if there is a problem.
"""


def add_explain(commands: Any) -> None:
    """Add the command to the others."""
    explain = commands.add_parser(
        "explain", help="what a finding means, by its code", description=_EXPLAIN
    )
    explain.add_argument("rule", nargs="?", metavar="CODE", help="GV101, 101 or a name")
    explain.add_argument(
        "--all", action="store_true", help="the whole manual, as Markdown"
    )
    explain.set_defaults(execute=_explain)


def add_show(commands: Any) -> None:
    """Add the command to the others."""
    show = commands.add_parser("show", help="show a recording", description=_SHOW)
    show.add_argument("file", metavar="FILE", help=RECORDING)
    show.add_argument("--no-open", action="store_true", help="only print a table")
    show.set_defaults(execute=_show)


def add_ledger(commands: Any) -> None:
    """Add the command to the others."""
    ledger = commands.add_parser(
        "ledger",
        help="list what a recording saved, and every NaN and Inf",
        description=_LEDGER,
    )
    ledger.add_argument("file", metavar="FILE", help=RECORDING)
    ledger.add_argument(
        "--limit",
        type=at_least(0),
        metavar="N",
        help="print at most N rows of each table; default: all",
    )
    ledger.set_defaults(execute=_ledger)


def add_diff(commands: Any) -> None:
    """Add the command to the others."""
    diff = commands.add_parser(
        "diff", help="compare two recordings, or two passes of one", description=_DIFF
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
    diff.set_defaults(execute=_diff)


def _explain(options: argparse.Namespace) -> int:
    from gradviz.diagnosis.manual import explanation, find_rule, listing, markdown

    name: str | None = options.rule
    if options.all:
        if name is not None:
            raise GradvizError("name one finding, or ask for --all of them.")
        print(markdown(), end="")
    else:
        print(listing() if name is None else explanation(find_rule(name)))
    return 0


def _show(options: argparse.Namespace) -> int:
    from gradviz.export import export_html
    from gradviz.render.text import to_text
    from gradviz.showing.browser import open_page
    from gradviz.snapshots import load

    snapshot = load(options.file)
    if not options.no_open:
        page = Path(options.file)
        if page.suffix.lower() not in (".html", ".htm"):
            page = Path(tempfile.mkdtemp(prefix="gradviz-")) / "graph.html"
            export_html(snapshot, page)
        if open_page(page):
            print(page.resolve())
            return 0
    print(to_text(snapshot, wants_color(sys.stdout)))
    return 0


def _ledger(options: argparse.Namespace) -> int:
    from gradviz.analysis.ledger import ledger_of
    from gradviz.snapshots import load

    ledger = ledger_of(load(options.file))
    print(ledger.to_text(limit=options.limit, width=_width()))
    return 0


def _diff(options: argparse.Namespace) -> int:
    from gradviz.analysis.diff import diff
    from gradviz.export import export_html
    from gradviz.snapshots import load

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
