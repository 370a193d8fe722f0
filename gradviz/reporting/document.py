"""Findings as a document for other programs: ``gradviz run SCRIPT --findings``."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from gradviz import ir
from gradviz.diagnosis.diagnose import Diagnosis
from gradviz.reporting.fingerprint import fingerprint
from gradviz.reporting.report import Report

SCHEMA = 1
"""Raised when a field goes or changes its meaning, not when one is added."""


def document(report: Report) -> dict[str, Any]:
    """Return the findings as plain data, most likely cause first.

    ``docs/findings.schema.json`` describes it, field by field.

    >>> from pathlib import Path
    >>> report = Report(Diagnosis((), (), ()), "train.py", Path("/project"))
    >>> document(report)["exit"]
    'ok'
    """
    return {
        "schema": SCHEMA,
        "script": report.script,
        "exit": "ok" if report.error is None else "raised",
        "error": report.error,
        "findings": [_finding(each, report) for each in report.diagnosis.findings],
        "known": report.known,
        "notes": list(report.diagnosis.notes),
    }


def dumps(report: Report) -> str:
    """Return the document as JSON, in ASCII."""
    return json.dumps(document(report), indent=1, allow_nan=False) + "\n"


def _finding(finding: ir.Finding, report: Report) -> dict[str, Any]:
    diagnosis = report.diagnosis
    return {
        "code": finding.code,
        "slug": finding.slug,
        "severity": finding.severity,
        "fingerprint": fingerprint(finding, diagnosis, report.top),
        "message": finding.message,
        "culprit": _site(finding.culprit, diagnosis),
        "symptom": _site(finding.symptom, diagnosis),
        "related": [
            {"role": role, **(_site(row, diagnosis) or {})}
            for row, role in zip(finding.related, finding.roles, strict=True)
        ],
        "fix": finding.fix,
        "edit": _edit(finding, diagnosis),
    }


def _edit(finding: ir.Finding, diagnosis: Diagnosis) -> dict[str, Any] | None:
    """Return the edit: ranges of one file as in a site, and what stands there then."""
    rows = [diagnosis.replacements[row] for row in finding.edit]
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


def _site(row: int | None, diagnosis: Diagnosis) -> dict[str, Any] | None:
    if row is None:
        return None
    site = diagnosis.sites[row]
    return {
        "file": site.file,
        "line": site.line,
        "end_line": site.end_line,
        "column": site.column,
        "end_column": site.end_column,
        "text": site.text,
    }
