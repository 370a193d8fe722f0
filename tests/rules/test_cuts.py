"""Cuts of the graph: the call is named, and what is meant stays quiet."""

from __future__ import annotations

from tests.rules.harness import Case, check, programs
from tests.rules.programs_cuts import MODES
from tests.rules.programs_cuts_fine import FINE
from tests.rules.programs_cuts_fine_values import FINE_VALUES
from tests.rules.programs_cuts_parts import FINE as FINE_PARTS
from tests.rules.programs_cuts_parts import WRONG as PARTS
from tests.rules.programs_cuts_rare import RARE, RARE_FINE
from tests.rules.programs_cuts_values import VALUES


@programs(MODES + VALUES + RARE + PARTS)
def test_the_call_that_cuts_is_named(case: Case, engine: str) -> None:
    check(case, engine)


@programs(FINE + FINE_VALUES + RARE_FINE + FINE_PARTS)
def test_a_cut_that_is_meant_stays_quiet(case: Case, engine: str) -> None:
    check(case, engine)
