"""In whole training programs the right line is blamed, or nobody."""

from __future__ import annotations

from tests.rules import programs_trainers
from tests.rules import programs_trainers_fine as fine
from tests.rules.harness import Case, check, programs


@programs([*programs_trainers.WRONG, *fine.MORE_WRONG, *fine.FINE])
def test_trainers(case: Case, engine: str) -> None:
    """The first finding names the marked line; fine programs get none."""
    check(case, engine)
