"""The command ``gradviz why``: a question about a thing of a saved recording."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gradviz.cli.arguments import RECORDING
from gradviz.text.words import clean

if TYPE_CHECKING:
    from gradviz.answers.answer import Why

_WHY = """\
Says why a parameter, a module or a loss of a recorded run is as it is: a verdict, then
the chain of causes, one line of your program each, down to the line that decided.
Healthy things get an answer too. The log of a run is not saved with its graph, so a
file answers one question about each thing: the one that its state asks first. While the
program runs, `gradviz.why(x, "writes")` answers many more.
"""

_EXAMPLES = """\
examples:
  gradviz run train.py --no-open             record; writes train.html
  gradviz why train.html                     what is wrong; --all: all that can be asked
  gradviz why train.html encoder.weight      the end of a name will do
  gradviz why train.html model.encoder       a module
  gradviz why train.html loss                whom it teaches, and whom not
  gradviz why train.html error               the exception that ended the run
  gradviz why train.html loss --json         for other programs
"""


def add_why(commands: Any) -> None:
    """Add the command to the others."""
    why = commands.add_parser(
        "why",
        help="why a parameter, a module or a loss is as it is",
        description=_WHY,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    why.add_argument("file", metavar="FILE", help=RECORDING)
    why.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help="as the program calls it; without one, lists what is wrong",
    )
    why.add_argument(
        "--all",
        action="store_true",
        help="without NAME: list also what is as it should be",
    )
    why.add_argument("--json", action="store_true", help="the answer as JSON")
    why.set_defaults(execute=_why)


def _why(options: argparse.Namespace) -> int:
    from gradviz.answers.saved import saved_names, saved_why
    from gradviz.snapshots import load

    snapshot = load(options.file)
    names = [name for name, _ in saved_names(snapshot)]
    if names and options.name is None:
        answers = [saved_why(snapshot, name) for name in names]
        if options.json:
            print(json.dumps([each.to_dict() for each in answers], indent=1))
        else:
            print("\n".join(map(clean, _listed(answers, everything=options.all))))
        return 0
    answer = saved_why(snapshot, options.name or "")
    if options.json:
        print(json.dumps(answer.to_dict(), indent=1))
    else:
        for line in str(answer).split("\n"):
            print(clean(line))
    return 0


def _listed(answers: list[Why], *, everything: bool) -> Iterator[str]:
    """Yield the verdicts of what is not as it should be, and how many others there are.

    Exceptions and losses are told in any case.
    """
    from gradviz.answers.saved import is_healthy

    told = [each for each in answers if everything or not is_healthy(each)]
    yield from (each.verdict for each in told)
    if len(told) < len(answers):
        yield f"{len(answers) - len(told):,} healthy (--all lists them)"
