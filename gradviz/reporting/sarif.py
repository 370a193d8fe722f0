"""Findings as SARIF 2.1.0, which code scanning services and editors read.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from gradviz import ir
from gradviz.reporting.fingerprint import fingerprint
from gradviz.reporting.places import below, shown_at
from gradviz.reporting.report import Report
from gradviz.reporting.sarif_rules import LEVELS, descriptors
from gradviz.text.findings import related
from gradviz.text.words import clean

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
    "sarif-schema-2.1.0.json"
)
TOP = "SRCROOT"
"""What paths in the checkout are relative to."""

_BLAMED = "the line to blame"


def dumps(report: Report) -> str:
    """Return the document as JSON, in ASCII."""
    return json.dumps(sarif(report), indent=1, allow_nan=False) + "\n"


def sarif(report: Report) -> dict[str, Any]:
    """Return a SARIF log of one run as plain data.

    >>> from gradviz.diagnosis.diagnose import Diagnosis
    >>> log = sarif(Report(Diagnosis((), (), ()), "train.py", Path("/project")))
    >>> log["version"], log["runs"][0]["results"]
    ('2.1.0', [])
    """
    found = report.diagnosis.findings
    codes = sorted({each.code for each in found})
    driver: dict[str, Any] = {"name": "gradviz", "rules": descriptors(codes)}
    with_version = _version()
    if with_version:
        driver["version"] = with_version
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {
            TOP: {"description": {"text": "The top folder of the checkout."}}
        },
        "invocations": [_invocation(report)],
        "results": [_result(each, codes, report) for each in found],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _version() -> str:
    try:
        return version("autogradviz")
    except PackageNotFoundError:  # run from a checkout
        return ""


def _invocation(report: Report) -> dict[str, Any]:
    """Tell what else happened: an exception of the script's is no failure of ours."""
    told = [("note", note) for note in report.diagnosis.notes]
    if report.error is not None:
        told.insert(0, ("error", f"{report.script} raised {report.error}"))
    return {
        "executionSuccessful": True,
        "toolExecutionNotifications": [
            {"level": level, "message": {"text": clean(text)}} for level, text in told
        ],
    }


def _result(
    finding: ir.Finding, codes: Sequence[str], report: Report
) -> dict[str, Any]:
    diagnosis, top = report.diagnosis, report.top
    text = clean(finding.message)
    if finding.fix:
        text += f"\n\nFix: {clean(finding.fix)}"
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": LEVELS[finding.severity],
        "message": {"text": text},
        "partialFingerprints": {"gradviz/v1": fingerprint(finding, diagnosis, top)},
    }
    site = shown_at(finding, diagnosis, top)
    if site is None and report.file:  # GitHub refuses a result without a place
        site = ir.Site(report.file, 1, 1)
    if site is not None:
        result["locations"] = [_location(site, top)]
    chain = list(_chain(finding, report))
    if len(chain) > 1:
        result["relatedLocations"] = [
            {"id": number, **each} for number, each in enumerate(chain, 1)
        ]
        steps = [{"location": each} for each in chain]
        result["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    if finding.edit:
        result["fixes"] = [_fix(finding, report)]
    return result


def _chain(finding: ir.Finding, report: Report) -> Iterator[dict[str, Any]]:
    """Yield the lines from the cause on to where it showed, each with its role."""
    places = [] if finding.culprit is None else [(_BLAMED, finding.culprit)]
    places += sorted(related(finding), key=lambda each: each[0] == "showed at")
    for role, row in places:
        where = _location(report.diagnosis.sites[row], report.top)
        yield {"message": {"text": clean(role)}, **where}


def _location(site: ir.Site, top: Path) -> dict[str, Any]:
    region: dict[str, Any] = {"startLine": site.line, "endLine": site.end_line}
    if site.column is not None and site.end_column is not None:
        region |= {"startColumn": site.column, "endColumn": site.end_column}
    if site.text:
        region["snippet"] = {"text": site.text}
    artifact = _artifact(site.file, top)
    found: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": artifact, "region": region}
    }
    if site.function:
        function = {"name": site.function, "kind": "function"}
        found["logicalLocations"] = [function]
    return found


def _artifact(file: str, top: Path) -> dict[str, Any]:
    path = below(file, top)
    if path is not None:
        # As a URI, whose spaces and the like are escaped, without its absolute part.
        base, whole = top.as_uri().rstrip("/"), (top / path).as_uri()
        return {"uri": whole[len(base) + 1 :], "uriBaseId": TOP}
    if Path(file).is_absolute():
        return {"uri": Path(file).as_uri()}
    return {"description": {"text": clean(file)}}  # "<stdin>", a notebook's cell


def _fix(finding: ir.Finding, report: Report) -> dict[str, Any]:
    rows = [report.diagnosis.replacements[row] for row in finding.edit]
    replacements = [
        {
            "deletedRegion": {
                "startLine": row.line,
                "startColumn": row.column,
                "endLine": row.end_line,
                "endColumn": row.end_column,
            },
            "insertedContent": {"text": row.text},
        }
        for row in rows
    ]
    artifact = _artifact(rows[0].file, report.top)
    return {
        "description": {"text": clean(finding.fix)},
        "artifactChanges": [
            {"artifactLocation": artifact, "replacements": replacements}
        ],
        "properties": {"safe": finding.safe},
    }
