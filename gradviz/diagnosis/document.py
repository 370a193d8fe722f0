"""Findings as a document for other programs: ``gradviz run SCRIPT --findings``."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from gradviz import ir
from gradviz.diagnosis.diagnose import Diagnosis

SCHEMA = 1


def document(diagnosis: Diagnosis, *, script: str, error: str | None) -> dict[str, Any]:
    """Return the findings as plain data, most likely cause first.

    ``error`` is what the script raised, as ``"RuntimeError: …"``.

    >>> document(Diagnosis((), (), ()), script="train.py", error=None)["exit"]
    'ok'
    """
    return {
        "schema": SCHEMA,
        "script": script,
        "exit": "ok" if error is None else "raised",
        "error": error,
        "findings": [_finding(each, diagnosis) for each in diagnosis.findings],
        "notes": list(diagnosis.notes),
    }


def dumps(diagnosis: Diagnosis, *, script: str, error: str | None) -> bytes:
    """Return the document as JSON, in ASCII."""
    data = document(diagnosis, script=script, error=error)
    return json.dumps(data, indent=1, allow_nan=False).encode("ascii") + b"\n"


def _finding(finding: ir.Finding, diagnosis: Diagnosis) -> dict[str, Any]:
    return {
        "code": finding.code,
        "slug": finding.slug,
        "severity": finding.severity,
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
