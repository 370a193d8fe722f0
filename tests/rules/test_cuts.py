"""Cuts of the graph: the call is named, and what is meant stays quiet."""

from __future__ import annotations

import pytest

from gradviz.diagnosis.diagnose import diagnose
from tests.rules.harness import ENGINES, Case, check, programs, run
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


@pytest.mark.parametrize("engine", ENGINES)
def test_a_block_whose_cut_ended_the_run_is_an_error(engine: str) -> None:
    attack = next(each for each in RARE if each.name.startswith("attack_on"))
    assert diagnose(run(attack, engine)).findings[0].severity == "error"
