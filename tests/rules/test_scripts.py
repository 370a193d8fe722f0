"""Rules on programs as people post them: the guilty line first, silence where fine."""

from tests.rules.harness import Case, check, programs
from tests.rules.programs_scripts import FINE, WRONG


@programs(WRONG + FINE)
def test_scripts(case: Case, engine: str) -> None:
    check(case, engine)
