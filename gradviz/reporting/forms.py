"""The forms a report can be written in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, get_args

from gradviz.reporting import document, github, sarif
from gradviz.reporting.report import Report
from gradviz.text.findings import findings_text

Form = Literal["text", "json", "github", "sarif"]

FORMS: tuple[Form, ...] = get_args(Form)

_SUFFIXES: dict[str, Form] = {".sarif": "sarif", ".txt": "text"}


def form_of(path: Path) -> Form:
    """Return the form that the name of a file asks for; JSON if it names no other.

    >>> form_of(Path("found.sarif")), form_of(Path("found.json"))
    ('sarif', 'json')
    """
    return _SUFFIXES.get(path.suffix.lower(), "json")


def written(report: Report, form: Form) -> str:
    r"""Return a report in one of the forms, every line of it ended.

    >>> from gradviz.diagnosis.diagnose import Diagnosis
    >>> report = Report(Diagnosis((), (), ()), "train.py", Path("/project"))
    >>> written(report, "text")
    'No findings.\n'
    """
    return _WRITERS[form](report)


def _text(report: Report) -> str:
    verdict = report.diagnosis.verdict
    lines = [f"{verdict[0].upper()}{verdict[1:]}."]
    if report.diagnosis:
        count = len(report.diagnosis)
        lines += ["", findings_text(report.diagnosis, limit=count)]
    return "\n".join(lines) + "\n"


def _github(report: Report) -> str:
    return "".join(f"{line}\n" for line in github.commands(report))


_WRITERS: dict[Form, Callable[[Report], str]] = {
    "text": _text,
    "json": document.dumps,
    "github": _github,
    "sarif": sarif.dumps,
}
