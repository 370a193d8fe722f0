"""What a rule is: a code, a slug, and a pure check over the history of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

from gradviz.diagnosis.edits.remedy import Remedy
from gradviz.program import History, RawSite

LAST_RESORT = 0.0
"""The certainty of a hit that is dropped where there is another answer."""

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that matters, and why: "saved here", "created here"."""

    role: str
    site: RawSite | None


@dataclass(frozen=True, slots=True)
class Hit:
    """What a rule found: one cause, with the place that is to blame.

    ``explains`` is set where this is the cause of the exception that ended the run, or
    of the backward pass that raised: such hits come first. Where several cells have
    failed, ``diagnose`` keeps it for the last exception only. ``line`` narrows the
    culprit to a line of its function where no instruction says it (``return``, a
    decorator).
    """

    message: str  # what happened and why, in full sentences
    culprit: RawSite | None
    fix: str  # what to write instead
    symptom: RawSite | None = None  # where it showed
    related: tuple[Related, ...] = ()
    nodes: tuple[int, ...] = ()
    tensors: tuple[int, ...] = ()
    severity: Severity | None = None  # None: the rule's own
    explains: bool = False
    line: int | None = None
    certainty: float = 1.0  # orders hits of one severity: 1 is proof, 0.5 a pattern
    edit: Remedy | None = None  # puts the fix's first proposal into effect


Check: TypeAlias = Callable[[History], Iterable[Hit]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One cause of trouble. Its file's docstring is its documentation."""

    code: str  # "GV101"
    slug: str  # "inplace-saved-output"
    severity: Severity
    check: Check
    worst: Severity | None = None  # of hits that ended no run; None: severity


def rule(
    code: str, slug: str, severity: Severity, *, worst: Severity | None = None
) -> Callable[[Check], Rule]:
    """Make a rule of the check below: ``@rule("GV101", "inplace-…", "error")``."""
    return partial(Rule, code, slug, severity, worst=worst)
