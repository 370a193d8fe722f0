"""The command ``gradviz``: parse the arguments, call the public functions.

Bad input is answered with one sentence on stderr and exit status 2.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from gradviz import ir
from gradviz.cli.export import add_export
from gradviz.cli.fix import add_fix, split_fix
from gradviz.cli.mcp import add_mcp
from gradviz.cli.merge import add_merge
from gradviz.cli.run import add_run, split_run
from gradviz.cli.show import add_diff, add_explain, add_ledger, add_show
from gradviz.cli.why import add_why
from gradviz.demo import add_demo
from gradviz.errors import GradvizError

if TYPE_CHECKING:
    from gradviz.running.ending import Ending

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
  gradviz run --findings out.sarif train.py  the same for code scanning
  gradviz run --fail-on error train.py       exit with 3 if an error is found
  gradviz run --trace train.py               what tensors each line assigned
  gradviz run --step train.py                step through every backward pass
  gradviz fix train.py                       what was found, as changes to your file
  gradviz fix --try --write train.py         try each change; write those that help
  gradviz explain GV101                      what a finding means, with an example
  gradviz explain --all > findings.md        the same for all of them
  gradviz why train.html encoder.weight      why it is as it is, line by line
  gradviz show train.gradviz.json            see a recording in the browser
  gradviz ledger train.gradviz.json          what is saved, and every NaN and Inf
  gradviz diff a.gradviz.json b.gradviz.json what an edit changed
  gradviz merge gradviz-watch-rank*.json     the ranks of a training side by side
  gradviz mcp                                serve coding agents (docs/agents.md)
  gradviz export train.gradviz.json -o graph.svg

`gradviz COMMAND --help` says more about a command.
"""


class _Parser(argparse.ArgumentParser):
    """Answers bad input with one sentence instead of a page of usage."""

    def error(self, message: str) -> NoReturn:
        sentence = message[:1].upper() + message[1:]
        self.exit(2, f"{self.prog}: {sentence}; see `{self.prog} --help`.\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status.

    Without arguments given here the process is the command's, and ends as it would have
    ended under Python if that runs a script.
    """
    whole_process = arguments is None
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        status = _dispatch(given, whole_process)
        if isinstance(status, int):
            sys.stdout.flush()
    except KeyboardInterrupt:
        print("gradviz: interrupted.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `gradviz show … | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    if isinstance(status, int):
        return status
    return status.happen(whole_process=whole_process)


def _dispatch(given: list[str], whole_process: bool) -> int | Ending:
    split = _SPLITS.get(given[0] if given else "")
    own, for_script = (given, []) if split is None else split(given)
    options, unknown = _parser().parse_known_args(own)
    if unknown:  # argparse itself would name the help of no command
        command = _Parser(prog=f"gradviz {options.command}")
        command.error(f"unrecognized arguments: {' '.join(unknown)}")
    options.for_script, options.whole_process = for_script, whole_process
    try:
        return options.execute(options)
    except GradvizError as error:
        print(f"gradviz {options.command}: {error}", file=sys.stderr)
        return 2


_SPLITS = {"run": split_run, "fix": split_fix}
"""Commands whose arguments are partly a script's."""

_ADDED = (
    add_demo,
    add_run,
    add_fix,
    add_export,
    add_explain,
    add_why,
    add_show,
    add_ledger,
    add_diff,
    add_merge,
    add_mcp,
)
"""Each adds one command, whose parser says what to ``execute``; help lists them so."""


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
    for add in _ADDED:
        add(commands)
    return parser


class _Version(argparse.Action):
    """Looks the version up only when asked for it."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import PackageNotFoundError, version

        try:
            number = version("autogradviz")
        except PackageNotFoundError:  # run from a checkout
            number = "(not installed)"
        print(f"gradviz {number}, snapshot schema {_schema()}")
        parser.exit()


def _schema() -> str:
    return ".".join(map(str, ir.SCHEMA_VERSION))
