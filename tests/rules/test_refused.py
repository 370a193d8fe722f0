"""What the engine itself refuses: the line that made it so is named."""

from __future__ import annotations

from tests.rules.harness import Case, check, programs
from tests.rules.programs_refused import FINE, WRONG


@programs(WRONG + FINE)
def test_refused(case: Case, engine: str):
    check(case, engine)
