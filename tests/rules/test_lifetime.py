"""Rules about the lifetime of graphs blame the right line, or nobody."""

from __future__ import annotations

from tests.rules.harness import Case, check, programs
from tests.rules.programs_lifetime import FINE, WRONG


@programs(WRONG + FINE)
def test_lifetime(case: Case, engine: str) -> None:
    """The first finding names the marked line; fine programs get none."""
    check(case, engine)
