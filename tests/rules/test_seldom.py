"""Faults that few programs have are named, and their likenesses are not."""

from __future__ import annotations

from tests.rules.harness import Case, check, programs
from tests.rules.programs_seldom import FINE, WRONG


@programs(WRONG + FINE)
def test_seldom_faults_are_named(case: Case, engine: str) -> None:
    check(case, engine)
