"""The command ``gradviz``: parse the arguments, call the public functions.

Bad input is answered with one sentence on stderr and exit status 2.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from gradviz import ir
from gradviz._capture._raw import KEPT_STEPS
from gradviz._cli_export import add_export, export
from gradviz._commands import COMMANDS, add_commands
from gradviz.errors import ExportError, GradvizError

if TYPE_CHECKING:
    from gradviz._run import Outcome

_DESCRIPTION = """\
See the graph that backward() walks: its operations, memory and gradients, and the line
of your code behind each of them.
"""

_EXAMPLES = """\
examples:
  gradviz demo                               train a small network, see its graph
  gradviz run train.py                       record a script, write and open train.html
  gradviz run train.py --html a.html --lr 1  the script gets --lr 1
  gradviz run train.py -- --html x           what follows -- is all for the script
  gradviz run --engine gradtape train.py     `import torch` gives gradtape
  gradviz run --findings out.json train.py   only the findings, for other programs
  gradviz explain GV101                      what a finding means, with an example
  gradviz show train.gradviz.json            see a recording in the browser
  gradviz ledger train.gradviz.json          what is saved, and every NaN and Inf
  gradviz export train.gradviz.json -o graph.svg

`gradviz COMMAND --help` says more about a command.
"""

_RUN = """\
Runs SCRIPT with its arguments as Python would, records every operation and backward
pass, writes a page that shows them, and says on stderr which line is to blame if
something went wrong with the gradients, and what to write instead. The script's output,
errors and exit status stay its own; if it raises, what was recorded until then is
still written.
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
    except BrokenPipeError:  # `gradviz show … | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status


def _dispatch(given: list[str]) -> int:
    if given[:1] == ["demo"]:
        from gradviz.demo import main as demo

        return demo(given[1:])
    own, for_script = _split_run(given) if given[:1] == ["run"] else (given, [])
    options = _parser().parse_args(own)
    try:
        if options.command == "run":
            return _run(options, for_script)
        if options.command in COMMANDS:
            return COMMANDS[options.command](options)
        if options.command == "explain":
            return _explain(options.rule)
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
    commands.add_parser("demo", help="train a small network and look at its graph")
    run = commands.add_parser(
        "run",
        help="record a script and show its graph",
        description=_RUN,
        usage="gradviz run [options] SCRIPT [options] [--] [arguments of the script …]",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    run.add_argument("script", type=Path, metavar="SCRIPT")
    run.add_argument(
        "--html",
        type=Path,
        metavar="OUT",
        help="the page to write; without any output: the script's name.html",
    )
    run.add_argument(
        "--json", type=Path, metavar="OUT", help="the recording as data, for later"
    )
    run.add_argument(
        "--findings",
        type=Path,
        metavar="OUT",
        help="what was found, as JSON: lines to blame, reasons, fixes",
    )
    run.add_argument(
        "--engine",
        choices=["torch", "gradtape"],
        help="what `import torch` gives; default: the installed PyTorch, and gradtape "
        "for a script that imports gradtape",
    )
    run.add_argument("--title", metavar="T", help="the title of the page")
    run.add_argument(
        "--steps",
        type=_at_least_one,
        default=KEPT_STEPS,
        metavar="N",
        help=f"keep the last N backward passes; default: {KEPT_STEPS}",
    )
    run.add_argument(
        "--no-open", action="store_true", help="do not open the page in a browser"
    )
    add_export(commands)
    explain = commands.add_parser("explain", help="what a finding means, by its code")
    explain.add_argument("rule", nargs="?", metavar="CODE", help="GV101 or its name")
    show = commands.add_parser("show", help="show a recording")
    show.add_argument("file", metavar="FILE", help="a .gradviz.json file or a page")
    show.add_argument("--no-open", action="store_true", help="only print a table")
    add_commands(commands)
    return parser


# The options of `run`, which may also follow SCRIPT.
_VALUED = {"--html", "--json", "--findings", "--engine", "--steps", "--title"}
_FLAGS = {"--no-open"}


def _at_least_one(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return number


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


def _split_run(given: list[str]) -> tuple[list[str], list[str]]:
    """Split the arguments of ``run`` into ours and the script's, each in order.

    Ours are everything up to SCRIPT, and behind it the options of ``run``, until "--".
    """
    own, theirs = given[:1], list[str]()
    script_seen = False
    rest = iter(given[1:])
    for word in rest:
        if script_seen and word == "--":
            theirs += rest
        elif word in _VALUED:
            own += [word, *islice(rest, 1)]
        elif word in _FLAGS or word.partition("=")[0] in _VALUED:
            own.append(word)
        elif script_seen:
            theirs.append(word)
        else:
            own.append(word)
            script_seen = not word.startswith("-")
    return own, theirs


def _run(options: argparse.Namespace, arguments: list[str]) -> int:
    from gradviz._run import Wanted, run_script
    from gradviz.export import check_target
    from gradviz.render.html import read_bundle

    script: Path = options.script
    targets = (options.html, options.json, options.findings)
    if all(target is None for target in targets):
        options.html = Path(f"{script.stem}.html")
    for target in (options.html, *targets):  # before hours of training, not after
        if target is not None:
            check_target(target)
    if options.html is not None:
        read_bundle()
    graph = options.html is not None or options.json is not None
    wanted = Wanted(options.title or script.name, options.steps, graph)
    outcome = run_script(script, arguments, engine=options.engine, wanted=wanted)
    if not outcome.forked:  # a child of the script has nothing to say
        _deliver(outcome, options)
    return outcome.status


def _deliver(outcome: Outcome, options: argparse.Namespace) -> None:
    """Write the files, say what was found and recorded, and open the page."""
    from gradviz.diagnosis import document
    from gradviz.diagnosis.report import report, wants_color
    from gradviz.export import FORMS

    written: dict[str, Path] = {}
    for form in ("html", "json"):
        target = getattr(options, form)
        if target is not None and outcome.snapshot is not None:
            written[form] = _write_somewhere(FORMS[form](outcome.snapshot), target)
    if outcome.diagnosis is not None:
        if options.findings is not None:
            script, error = str(options.script), outcome.error
            data = document.dumps(outcome.diagnosis, script=script, error=error)
            written["findings"] = _write_somewhere(data, options.findings)
        color = wants_color(sys.stderr)
        if outcome.diagnosis:
            print(report(outcome.diagnosis, color=color), "", sep="\n", file=sys.stderr)
    _say_what(outcome, list(written.values()))
    if "html" in written and not options.no_open:
        from gradviz._browser import open_page

        open_page(written["html"])


def _write_somewhere(data: bytes, target: Path) -> Path:
    """Write the file; where that has become impossible, into a temporary folder."""
    from gradviz.export import write_bytes

    try:
        return write_bytes(data, target)
    except ExportError as error:
        print(f"gradviz run: {error}", file=sys.stderr)
        return write_bytes(data, Path(tempfile.mkdtemp()) / target.name)


def _say_what(outcome: Outcome, written: list[Path]) -> None:
    """Say on stderr what was recorded; stdout belongs to the script."""
    from gradviz.render._words import counted, summary

    parts: list[str] = []
    if outcome.snapshot is not None:
        parts.append(f"recorded {summary(outcome.snapshot)}")
    if outcome.diagnosis is not None and (outcome.diagnosis or not parts):
        parts.append(f"found {counted(len(outcome.diagnosis.findings), 'cause')}")
    until = " until the script raised" if outcome.error is not None else ""
    files = ", ".join(str(path.resolve()) for path in written)
    print(f"gradviz: {', '.join(parts)}{until}: {files}", file=sys.stderr)


def _explain(name: str | None) -> int:
    from gradviz.diagnosis.manual import explanation, find_rule, listing

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
    color = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    print(to_text(snapshot, color))
    return 0
