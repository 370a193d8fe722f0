"""Compares the first finding about a program with its marked line."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext

import gradviz
from gradviz import ir
from gradviz._capture.open_log import Engine
from gradviz.diagnosis.diagnose import Diagnosis
from gradviz.diagnosis.manual import shown_severities
from gradviz.running.engine_alias import alias
from tests.rules import edits, places, untouched
from tests.rules.harness import Case, executed


def check(case: Case, engine: Engine) -> Diagnosis:
    """Record a program and assert that the right line, or none, is blamed first.

    Under PyTorch it runs without a recording too, which must make no difference, and
    with the edit of its first finding, which must end it.
    """
    # In full: which steps are looked at in brief depends on how fast the machine is.
    session = gradviz.record(engine=engine, detail="full")
    session.script = case.file
    if engine == "torch":
        plain = untouched.left_by(case, nullcontext())
        watched = untouched.left_by(case, session)
        assert untouched.differences(plain, watched) == []
        error = watched.error
    else:
        with alias("torch", "gradtape"), executed(case, session) as ran:
            error = ran.error
    diagnosis = session.diagnose()
    judge(case, diagnosis)
    if case.name in places.SHOWN and engine == case.engines[0]:
        places.check(session.snapshot())
    if case.slug is None:
        _refuse_gaps(session.snapshot().notes)
    elif engine == "torch":
        edits.check(case, diagnosis, error)
    return diagnosis


def _refuse_gaps(notes: Iterable[str]) -> None:
    """Assert that no part of a recording gave up."""
    assert [n for n in notes if "was skipped" in n or "stopped" in n] == []


def judge(case: Case, diagnosis: Diagnosis) -> None:
    """Assert that the right line, or none, is blamed first."""
    report = "\n".join(describe(diagnosis)) or "nothing found"
    _refuse_gaps(diagnosis.notes)
    for finding, (rule, hit) in zip(diagnosis.findings, diagnosis.hits, strict=True):
        told = shown_severities(rule, ended=hit.explains)
        assert finding.severity in told, f"`gradviz explain` says otherwise:\n{report}"
    if case.slug is None:
        loud = [each for each in diagnosis.findings if each.severity != "info"]
        assert not loud, f"{case.name} is fine, but:\n{report}"
        return
    assert diagnosis.findings, f"{case.name}: nothing found"
    first = diagnosis.findings[0]
    assert (first.slug, _line(diagnosis, first)) in [
        (case.slug, line) for line in case.lines
    ], f"expected {case.slug} in line {case.lines}, got:\n{report}"
    text = f"{first.message} {first.fix}"
    for part in case.says:
        assert part in text, f"{part!r} is missing in {text!r}"
    for role in case.related:
        assert role in first.roles, f"{role!r} is missing in {first.roles}"


def describe(diagnosis: Diagnosis) -> list[str]:
    """Return one line of text per finding."""
    return [
        f"line {_line(diagnosis, each)}: {each.code} {each.slug} ({each.severity}): "
        f"{each.message} Fix: {each.fix}"
        for each in diagnosis.findings
    ] + list(diagnosis.notes)


def _line(diagnosis: Diagnosis, finding: ir.Finding) -> int | None:
    return None if finding.culprit is None else diagnosis.sites[finding.culprit].line
