"""Cuts of the graph: the call is named, and what is meant stays quiet."""

from __future__ import annotations

from tests.rules.harness import Case, check, programs
from tests.rules.programs_cuts import WRONG


@programs(WRONG)
def test_the_call_that_cuts_is_named(case: Case, engine: str) -> None:
    check(case, engine)
