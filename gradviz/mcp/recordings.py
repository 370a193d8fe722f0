"""Tools that read a recording: its findings, answers to why, what differs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gradviz.analysis.diff import diff, summary
from gradviz.answers.saved import saved_names, saved_why, verdict_about
from gradviz.diagnosis.manual import explanation, find_rule
from gradviz.errors import GradvizError
from gradviz.mcp.bounds import fitted, text
from gradviz.mcp.told import told_finding
from gradviz.reporting.document import finding_data
from gradviz.snapshots import load
from gradviz.text.words import summary as size_of

_MANUAL = 8_000  # characters of what is said about one rule
_SIGNS = {"added": "+", "removed": "-", "changed": "~"}


def findings(recording: str, code: str | None, first: int) -> dict[str, Any]:
    """Return the findings of a recording; of one code, with its manual."""
    snapshot = load(recording)
    others: dict[str, Any] = {"recorded": size_of(snapshot)}
    found = snapshot.findings
    if code is not None:
        rule = find_rule(code)
        others["manual"] = text(explanation(rule), _MANUAL)
        found = tuple(each for each in found if each.code == rule.code)
    rows = [told_finding(finding_data(each, snapshot, Path.cwd())) for each in found]
    if first == 0 and snapshot.notes:
        others["notes"] = [text(note, 300) for note in snapshot.notes[:5]]
    return fitted(rows, first=first, name="findings", **others)


def why(
    recording: str, name: str | None, question: str | None, first: int
) -> dict[str, Any]:
    """Return the answer about a thing; without a name, what can be asked about."""
    snapshot = load(recording)
    if name is None:
        rows = [
            {
                "name": each,
                "kind": answer.kind,
                "verdict": text(verdict_about(answer, each), 300),
            }
            for each, answer in saved_names(snapshot)
        ]
        return fitted(rows, first=first, name="answers")
    answer = saved_why(snapshot, name, question)
    steps = [
        {
            "sentence": text(step.sentence, 600),
            **({"line": step.place} if step.place else {}),
            **({"decision": True} if step.decision else {}),
        }
        for step in answer.steps
    ]
    return fitted(
        steps,
        first=first,
        name="steps",
        subject=answer.subject,
        question=answer.question,
        verdict=text(answer.verdict),
        **({"finding": answer.finding} if answer.finding else {}),
    )


def differences(
    before: str, after: str | None, passes: list[int] | None, first: int
) -> dict[str, Any]:
    """Return what differs between two recordings, or two passes of one."""
    chosen = None
    if passes is not None:
        if len(passes) != 2:
            raise GradvizError("passes are two numbers, one of each graph.")
        chosen = passes[0], passes[1]
    later = None if after is None else load(after)
    found = diff(load(before), later, passes=chosen)
    rows = [
        {
            "sign": _SIGNS[row.kind],
            "op": row.label,
            "what": [text(each, 300) for each in row.changes],
            "module": row.scope,
            "line": row.place,
        }
        for row in found.rows
        if row.kind != "same"
    ]
    others = {"summary": summary(found), "differ": bool(found)}
    return fitted(rows, first=first, name="rows", **others)
