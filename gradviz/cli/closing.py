"""What ``gradviz run`` says at the end: the verdict first, the files last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, TextIO

from gradviz._capture.recorder.recorder import NO_GRADIENTS, RAISED
from gradviz.cli.arguments import wants_color
from gradviz.text.findings import findings_text
from gradviz.text.words import clean, counted, summary

if TYPE_CHECKING:
    from gradviz.diagnosis.diagnose import Diagnosis
    from gradviz.reporting.forms import Form
    from gradviz.reporting.report import Report
    from gradviz.running.script import Outcome

_WIDTH = 88
_MOST_NOTES = 12
_LONGEST_NOTE = 600  # characters
_SAMPLED = "sampled {:,} of {:,} passes; `--detail full` records all."
_NOTHING_CALLED = "the script called no operation of PyTorch or gradtape"


def said(
    outcome: Outcome,
    report: Report | None,
    form: Form,
    written: Mapping[str, Path],
    stream: TextIO | None,
) -> str:
    """Return what is said at the end: in a form for programs, the document alone."""
    from gradviz.reporting.forms import written as document

    if report is None:
        return closing(outcome, written, color=False)
    if form in ("json", "sarif"):
        return document(report, form).rstrip("\n")
    told = replace(outcome, diagnosis=report.diagnosis)
    found = document(report, form).rstrip("\n") if form == "github" else None
    color = wants_color(stream)
    return closing(told, written, color=color, found=found, known=report.known)


def closing(
    outcome: Outcome,
    written: Mapping[str, Path],
    *,
    color: bool,
    found: str | None = None,
    known: int = 0,
) -> str:
    """Return the closing text: verdict, findings, notes, what was recorded and where.

    ``found`` takes the place of the findings' text. Where the script used no tensor,
    that is all there is to say.
    """
    diagnosis = outcome.diagnosis
    paragraphs: list[str] = []
    if diagnosis is not None and _has_verdict(diagnosis):
        paragraphs.append(f"gradviz: {diagnosis.verdict}{_until(outcome)}.")
        if diagnosis:
            text = findings_text(diagnosis, color=color) if found is None else found
            paragraphs += ["", text, ""]
    if known:
        told = counted(known, "known finding")
        paragraphs.append(f"gradviz: {told} of the baseline left out.")
    paragraphs += _notes(outcome)
    if written or outcome.snapshot is not None or not paragraphs:
        paragraphs.append(f"gradviz: {_recorded(outcome)}{_files(written)}")
    return "\n".join(paragraphs)


def _notes(outcome: Outcome) -> list[str]:
    """Return what could not be seen, each once; what was said already is left out.

    How much of the graph is kept is one line; the page tells the rest.
    """
    told = [*(outcome.diagnosis.notes if outcome.diagnosis is not None else ())]
    told += outcome.snapshot.notes if outcome.snapshot is not None else ()
    said = {NO_GRADIENTS, RAISED.format(outcome.error)} | outcome.routine
    notes = [note for note in dict.fromkeys(told) if note not in said]
    if outcome.snapshot is not None and outcome.in_full is not None:
        notes.insert(0, _SAMPLED.format(outcome.in_full, outcome.passes))
    lines = [
        fill(f"note: {clean(note, _LONGEST_NOTE)}", _WIDTH, subsequent_indent="  ")
        for note in notes[:_MOST_NOTES]
    ]
    more = len(notes) - _MOST_NOTES
    return [*lines, f"… {counted(more, 'more note')}"] if more > 0 else lines


def _has_verdict(diagnosis: Diagnosis) -> bool:
    return bool(diagnosis or diagnosis.looked_at)


def _recorded(outcome: Outcome) -> str:
    snapshot, diagnosis = outcome.snapshot, outcome.diagnosis
    has_verdict = diagnosis is not None and _has_verdict(diagnosis)
    has_graph = snapshot is not None and snapshot.nodes
    if outcome.error is None and not has_graph and not has_verdict:
        return _NOTHING_CALLED
    if outcome.is_empty:
        return f"recorded nothing{_until(outcome)}"
    if snapshot is not None:
        return f"recorded {summary(snapshot)}{_until(outcome)}"
    what = "wrote what was found" if has_verdict else "no findings"
    return f"{what}{_until(outcome)}"


def _until(outcome: Outcome) -> str:
    return " until the script raised" if outcome.error is not None else ""


def _files(written: Mapping[str, Path]) -> str:
    files = ", ".join(str(path.resolve()) for path in written.values())
    return f": {files}" if files else "."
