"""The command ``gradviz``: parse the arguments, call the public functions.

Bad input is answered with one sentence on stderr and exit status 2.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from gradviz import ir
from gradviz._arguments import RECORDING, wants_color
from gradviz._cli_export import add_export, export
from gradviz._cli_merge import add_merge, merge
from gradviz._cli_run import add_run, run, split_run
from gradviz._commands import COMMANDS, add_commands
from gradviz.demo import add_demo, demo
from gradviz.errors import GradvizError

_DESCRIPTION = """\
See the graph that backward() walks: its operations, memory and gradients, and the line
of your code behind each of them.
"""

_EXAMPLES = """\
examples:
  gradviz demo                               train a small network, see its graph
  gradviz run train.py                       record a script, write and open train.html
  gradviz run train.py --html a.html --lr 1  the script gets --lr 1
  gradviz run -m package.train --lr 1        a module, as `python -m` runs it
  gradviz run - < train.py                   a script from standard input
  gradviz run train.py -- --html x           what follows -- is all for the script
  gradviz run --engine gradtape train.py     `import torch` gives gradtape
  gradviz run --findings out.json train.py   only the findings, for other programs
  gradviz run --step train.py                step through every backward pass
  gradviz explain GV101                      what a finding means, with an example
  gradviz explain --all > findings.md        the same for all of them
  gradviz show train.gradviz.json            see a recording in the browser
  gradviz ledger train.gradviz.json          what is saved, and every NaN and Inf
  gradviz diff a.gradviz.json b.gradviz.json what an edit changed
  gradviz merge gradviz-watch-rank*.json     the ranks of a training side by side
  gradviz export train.gradviz.json -o graph.svg

`gradviz COMMAND --help` says more about a command.
"""


class _Parser(argparse.ArgumentParser):
    """Answers bad input with one sentence instead of a page of usage."""

    def error(self, message: str) -> NoReturn:
        sentence = message[:1].upper() + message[1:]
        self.exit(2, f"{self.prog}: {sentence}; see `{self.prog} --help`.\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        status = _dispatch(given)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("gradviz: interrupted.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `gradviz show … | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status


def _dispatch(given: list[str]) -> int:
    own, for_script = split_run(given) if given[:1] == ["run"] else (given, [])
    options = _parser().parse_args(own)
    try:
        if options.command == "demo":
            return demo(options.output, open_it=not options.no_open)
        if options.command == "run":
            return run(options, for_script)
        if options.command in COMMANDS:
            return COMMANDS[options.command](options)
        if options.command == "merge":
            return merge(options)
        if options.command == "explain":
            return _explain(options.rule, everything=options.all)
        if options.command == "export":
            return export(options)
        return _show(options.file, open_it=not options.no_open)
    except GradvizError as error:
        print(f"gradviz {options.command}: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="gradviz",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="say which this is")
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", parser_class=_Parser
    )
    add_demo(commands)
    add_run(commands)
    add_export(commands)
    explain = commands.add_parser("explain", help="what a finding means, by its code")
    explain.add_argument("rule", nargs="?", metavar="CODE", help="GV101 or its name")
    explain.add_argument(
        "--all", action="store_true", help="the whole manual, as Markdown"
    )
    show = commands.add_parser("show", help="show a recording")
    show.add_argument("file", metavar="FILE", help=RECORDING)
    show.add_argument("--no-open", action="store_true", help="only print a table")
    add_commands(commands)
    add_merge(commands)
    return parser


class _Version(argparse.Action):
    """Looks the version up only when asked for it."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import PackageNotFoundError, version

        try:
            number = version("gradviz")
        except PackageNotFoundError:  # run from a checkout
            number = "(not installed)"
        print(f"gradviz {number}, snapshot schema {_schema()}")
        parser.exit()


def _schema() -> str:
    return ".".join(map(str, ir.SCHEMA_VERSION))


def _explain(name: str | None, *, everything: bool) -> int:
    from gradviz.diagnosis.manual import explanation, find_rule, listing, markdown

    if everything:
        if name is not None:
            raise GradvizError("name one finding, or ask for --all of them.")
        print(markdown(), end="")
    else:
        print(listing() if name is None else explanation(find_rule(name)))
    return 0


def _show(source: str, *, open_it: bool) -> int:
    from gradviz._browser import open_page
    from gradviz.export import export_html, load
    from gradviz.render.text import to_text

    snapshot = load(source)
    if open_it:
        page = Path(source)
        if page.suffix.lower() not in (".html", ".htm"):
            page = Path(tempfile.mkdtemp(prefix="gradviz-")) / "graph.html"
            export_html(snapshot, page)
        if open_page(page):
            print(page.resolve())
            return 0
    print(to_text(snapshot, wants_color(sys.stdout)))
    return 0
