"""Which findings make a run, or a test, fail."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

from gradviz import ir

FailOn = Literal["error", "warning", "never"]
"""The least severity that fails; a remark ("info") never does."""

FAIL_ON: tuple[FailOn, ...] = get_args(FailOn)

_FAILING: dict[FailOn, tuple[str, ...]] = {
    "error": ("error",),
    "warning": ("error", "warning"),
    "never": (),
}


def failing(findings: Iterable[ir.Finding], fail_on: FailOn) -> list[ir.Finding]:
    """Return the findings that are grave enough to fail.

    >>> found = [ir.Finding("GV306", "detach-in-forward", "warning", "It cuts.")]
    >>> len(failing(found, "warning")), len(failing(found, "error"))
    (1, 0)
    """
    return [each for each in findings if each.severity in _FAILING[fail_on]]
