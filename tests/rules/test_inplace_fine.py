"""Correct programs that look like GV101-GV124: nothing is to be said about them."""

from __future__ import annotations

from tests.rules.harness import Case, check, programs
from tests.rules.programs_inplace_fine import WRITES
from tests.rules.programs_inplace_fine_training import TRAINING
from tests.rules.programs_inplace_fine_views import ALIASES, HOOKS


@programs(WRITES + ALIASES + HOOKS + TRAINING)
def test_a_correct_program_stays_silent(case: Case, engine: str) -> None:
    check(case, engine)
