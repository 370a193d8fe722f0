"""Runs a program again with the edit of its first finding."""

from __future__ import annotations

from dataclasses import replace

import gradviz
from gradviz import ir
from gradviz.diagnosis.diagnose import Diagnosis
from gradviz.diagnosis.edits.draft import applied
from tests.rules.harness import Case, executed

SECOND_FAULTS = {
    "adversarial_noise_clamped": "nothing clears the gradient of the image",
    "view_in_a_custom_backward": "the formula is wrong, too",
    "loss_before_the_loop": "nothing clears the gradient",
    "scaled_at_birth": "nothing clears the gradient",
    "moved_after_the_leaf": "nothing clears the gradient",
    "hidden_state_in_double": "the state carries its graph along",
    "cleared_by_the_other_optimizer": "the shared layer is cleared by nobody then",
}
"""Programs with two faults: the edit of the first lets the other be seen."""


def check(case: Case, before: Diagnosis, error: str) -> None:
    """Assert that the edit ends the finding, and brings up no other error or warning.

    Args:
        case: A wrong program that was recorded under PyTorch.
        before: What was found.
        error: What it raised; "" if it ran through, and then it must with the edit.
    """
    first = before.findings[0]
    rows = [before.replacements[row] for row in first.edit]
    if not rows:
        return  # no edit is certain here
    source = applied(case.source, rows)
    after, raised = _diagnosed(replace(case, source=source))
    assert error or not raised, f"{first.diff}\n{raised}"
    assert _is_gone(first, after), first.diff
    if case.name not in SECOND_FAULTS:
        known = {each.code for each in before.findings}
        new = {e.code for e in after.findings if e.severity != "info"} - known
        assert not new, first.diff


def _is_gone(first: ir.Finding, after: Diagnosis) -> bool:
    alike = [each for each in after.findings if each.code == first.code]
    if first.severity == "info":
        return not alike
    return all(each.severity == "info" for each in alike)


def _diagnosed(case: Case) -> tuple[Diagnosis, str]:
    session = gradviz.record(engine="torch", detail="full")
    session.script = case.file
    with executed(case, session) as ran:
        error = ran.error
    return session.diagnose(), error
