"""Findings as GitHub's workflow commands: it shows them beside the lines of a change.

The runner reads them from stdout and from stderr, line by line.
https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gradviz import ir
from gradviz.diagnosis.diagnose import Diagnosis
from gradviz.reporting.places import below, shown_at
from gradviz.reporting.report import Report
from gradviz.text.findings import place_of
from gradviz.text.words import clean

_COMMANDS: Mapping[ir.Severity, str] = {
    "error": "error",
    "warning": "warning",
    "info": "notice",
}


def commands(report: Report) -> Iterator[str]:
    """Yield a line for each finding, most likely cause first."""
    diagnosis = report.diagnosis
    for finding in diagnosis.findings:
        parts: dict[str, str | int] = {}
        site = shown_at(finding, diagnosis, report.top)
        file = None if site is None else below(site.file, report.top)
        if site is not None and file is not None:
            parts = {"file": file, "line": site.line, "endLine": site.end_line}
            if site.column is not None and site.end_column is not None:
                parts |= {"col": site.column, "endColumn": site.end_column}
        parts["title"] = f"{finding.code} {finding.slug}"
        message = "\n".join(_lines(finding, diagnosis))
        yield command(_COMMANDS[finding.severity], parts, message)


def command(name: str, parts: Mapping[str, str | int], message: str) -> str:
    """Return a workflow command, escaped so that its text cannot be another one.

    >>> command("error", {"file": "a,b.py", "line": 3}, "100 %\\n::stop-commands::x")
    '::error file=a%2Cb.py,line=3::100 %25%0A::stop-commands::x'
    """
    told = ",".join(f"{key}={_property(str(text))}" for key, text in parts.items())
    return f"::{name} {told}::{_escaped(message)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")


def _lines(finding: ir.Finding, diagnosis: Diagnosis) -> Iterator[str]:
    if finding.culprit is not None:
        yield place_of(diagnosis.sites[finding.culprit], diagnosis.sources)
    yield clean(finding.message)
    if finding.fix:
        yield f"Fix: {clean(finding.fix)}"
    if finding.symptom not in (None, finding.culprit):
        showed = place_of(diagnosis.sites[finding.symptom], diagnosis.sources)
        yield f"Showed at: {showed}"
