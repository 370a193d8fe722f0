"""A finding as an agent is told it: the line, the reason, what to write instead."""

from __future__ import annotations

from typing import Any

from gradviz.mcp.bounds import text

_MOST_RELATED = 6


def told_finding(data: dict[str, Any]) -> dict[str, Any]:
    """Return a finding of a document (``reporting/document.py``) in short."""
    told: dict[str, Any] = {
        "code": data["code"],
        "slug": data["slug"],
        "severity": data["severity"],
    }
    if data["culprit"] is not None:
        told |= _line(data["culprit"])
    told |= {"message": text(data["message"]), "fix": text(data["fix"])}
    related = [
        {"role": each["role"], **_line(each)}
        for each in data["related"][:_MOST_RELATED]
    ]
    if data["symptom"] is not None:
        related.append({"role": "showed at", **_line(data["symptom"])})
    if related:
        told["related"] = related
    if data["edit"] is not None:
        edit = data["edit"]
        told["edit"] = {"safe": edit["safe"], "diff": text(edit["diff"], 4_000)}
    return told


def _line(site: dict[str, Any]) -> dict[str, Any]:
    return {
        "file": site["file"],
        "line": site["line"],
        "text": text(site["text"].strip(), 400),
    }
