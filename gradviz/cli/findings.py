"""What ``gradviz run`` does with findings: their form, known or new, its status."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gradviz.errors import GradvizError

if TYPE_CHECKING:
    from gradviz.reporting.baseline import Baseline
    from gradviz.reporting.failing import FailOn
    from gradviz.reporting.forms import Form
    from gradviz.reporting.report import Report
    from gradviz.running.script import Outcome

FAILED = 3
"""The status of a script that ended well where a finding was to fail it.

1 is what Python gives an exception, 2 what command lines give bad input, and above 128
are signals: a status of its own lets a job tell what was found from what broke.
"""

_FORMS = ("text", "json", "github", "sarif")
_FAIL_ON = ("error", "warning", "never")

VALUED = {"--findings", "--format", "--fail-on", "--baseline"}
FLAGS = {"--write-baseline"}


def add_findings(run: argparse.ArgumentParser) -> None:
    """Add the options about findings to the command."""
    about = run.add_argument_group("what was found")
    about.add_argument(
        "--findings",
        type=Path,
        metavar="OUT",
        help="write what was found: as SARIF for OUT.sarif, as text for OUT.txt, else "
        "as JSON",
    )
    about.add_argument(
        "--format",
        choices=_FORMS,
        help="the form of what was found, in the file of --findings if there is one, "
        "else on stderr and no page is written; github, which GitHub reads from the "
        "log, always on stderr",
    )
    about.add_argument(
        "--fail-on",
        choices=_FAIL_ON,
        default="never",
        help=f"exit with status {FAILED} if a finding is that severe or worse and the "
        "script ended with 0; default: never",
    )
    about.add_argument(
        "--baseline",
        type=Path,
        metavar="FILE",
        help="findings in FILE are known: they are left out, and fail nothing",
    )
    about.add_argument(
        "--write-baseline",
        action="store_true",
        help="write what was found into the file of --baseline: it is known then",
    )


def are_about_findings(options: argparse.Namespace) -> bool:
    """Tell whether any of the options was given."""
    wanted = options.findings, options.format, options.baseline
    return any(wanted) or options.write_baseline or options.fail_on != "never"


@dataclass(frozen=True, slots=True)
class Telling:
    """The choices that the options stand for; paths are absolute."""

    script: str
    file: str
    top: Path
    said: Form  # on stderr
    written: Form  # in the file of --findings
    fail_on: FailOn
    baseline: Baseline | None = None

    def report(self, outcome: Outcome) -> Report | None:
        """Return what is to be told of a run; None where it was not looked at."""
        from gradviz.reporting.report import Report

        whole = outcome.diagnosis
        if whole is None:
            return None
        told = whole
        if self.baseline is not None:
            told = self.baseline.new_in(whole, self.top)
        known = len(whole) - len(told)
        return Report(told, self.script, self.top, self.file, outcome.error, known)

    def status(self, report: Report | None) -> int | None:
        """Return the status of a script that ended well; None: the script's own.

        A run that could not be looked at does not pass for one without findings.
        """
        from gradviz.reporting.failing import failing

        if self.fail_on == "never":
            return None
        fails = report is None or failing(report.diagnosis.findings, self.fail_on)
        return FAILED if fails else None


def telling(script: str, file: str, options: argparse.Namespace) -> Telling:
    """Return what the options stand for; raise GradvizError for a bad baseline."""
    from gradviz.reporting.baseline import read_baseline
    from gradviz.reporting.forms import form_of
    from gradviz.reporting.places import top_of

    path: Path | None = options.baseline
    if options.write_baseline and path is None:
        raise GradvizError("--write-baseline writes the file of --baseline: name it.")
    form, out = options.format, options.findings
    by_name = "json" if out is None else form_of(out)
    in_file = out is not None and form != "github"
    anew = options.write_baseline
    return Telling(
        script,
        file if os.path.isabs(file) else "",  # "<stdin>" is none
        top_of(Path.cwd()),
        said="text" if in_file else form or "text",
        written=form if in_file and form is not None else by_name,
        fail_on="never" if anew else options.fail_on,
        baseline=None if path is None or anew else read_baseline(path.expanduser()),
    )
