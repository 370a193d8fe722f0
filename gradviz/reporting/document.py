"""Findings as a document for other programs: ``gradviz run SCRIPT --findings``."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from gradviz import ir
from gradviz.reporting.fingerprint import fingerprint
from gradviz.reporting.report import Report
from gradviz.text.findings import Found

SCHEMA = 1
"""Raised when a field goes or changes its meaning, not when one is added."""


def document(report: Report) -> dict[str, Any]:
    """Return the findings as plain data, most likely cause first.

    ``docs/findings.schema.json`` describes it, field by field.

    >>> from gradviz.diagnosis.diagnose import Diagnosis
    >>> report = Report(Diagnosis((), (), ()), "train.py", Path("/project"))
    >>> document(report)["exit"]
    'ok'
    """
    return {
        "schema": SCHEMA,
        "script": report.script,
        "exit": "ok" if report.error is None else "raised",
        "error": report.error,
        "verdict": report.diagnosis.verdict,
        "findings": [
            finding_data(each, report.diagnosis, report.top)
            for each in report.diagnosis.findings
        ],
        "known": report.known,
        "notes": list(report.diagnosis.notes),
    }


def dumps(report: Report) -> str:
    """Return the document as JSON, in ASCII."""
    return json.dumps(document(report), indent=1, allow_nan=False) + "\n"


class Changed(Found, Protocol):
    """Findings with the tables of their edits as well: a diagnosis, or a snapshot."""

    @property
    def replacements(self) -> tuple[ir.Replacement, ...]: ...


def finding_data(finding: ir.Finding, found: Changed, top: Path) -> dict[str, Any]:
    """Return one finding as plain data."""
    return {
        "code": finding.code,
        "slug": finding.slug,
        "severity": finding.severity,
        "fingerprint": fingerprint(finding, found, top),
        "message": finding.message,
        "culprit": _site(finding.culprit, found),
        "symptom": _site(finding.symptom, found),
        "related": [
            {"role": role, **(_site(row, found) or {})}
            for row, role in zip(finding.related, finding.roles, strict=True)
        ],
        "fix": finding.fix,
        "edit": _edit(finding, found),
    }


def _edit(finding: ir.Finding, found: Changed) -> dict[str, Any] | None:
    """Return the edit: ranges of one file as in a site, and what stands there then."""
    rows = [found.replacements[row] for row in finding.edit]
    if not rows:
        return None
    changes = [asdict(each) for each in rows]
    file = {change.pop("file") for change in changes}.pop()
    return {
        "file": file,
        "safe": finding.safe,
        "replacements": changes,
        "diff": finding.diff,
    }


def _site(row: int | None, found: Found) -> dict[str, Any] | None:
    if row is None:
        return None
    site = found.sites[row]
    return {
        "file": site.file,
        "line": site.line,
        "end_line": site.end_line,
        "column": site.column,
        "end_column": site.end_column,
        "text": site.text,
    }
