"""What was taken for something else is named, and derivatives that go missing."""

from __future__ import annotations

import pytest

from gradviz.diagnosis.diagnose import diagnose
from tests.rules import (
    programs_found_elsewhere,
    programs_lost_derivatives,
    programs_mixed_up,
)
from tests.rules import programs_without_effect as without_effect
from tests.rules.harness import ENGINES, Case, case, check, programs, run

WITHOUT_EFFECT = [
    *without_effect.FACTORS,
    *without_effect.ROWS,
    *without_effect.MASKS,
    *without_effect.TERMS,
    *without_effect.SAMPLES,
]


@programs(programs_mixed_up.PROGRAMS)
def test_things_taken_for_others_are_named(case: Case, engine: str) -> None:
    check(case, engine)


@programs(programs_lost_derivatives.PROGRAMS)
def test_derivatives_that_go_missing_are_named(case: Case, engine: str) -> None:
    check(case, engine)


@programs(WITHOUT_EFFECT)
def test_what_has_no_effect_is_named(case: Case, engine: str) -> None:
    check(case, engine)


@programs(programs_found_elsewhere.REFUSED + programs_found_elsewhere.OTHERS)
def test_the_cause_is_found_in_another_line(case: Case, engine: str) -> None:
    check(case, engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_gradients_that_cancel_are_an_information(engine: str) -> None:
    drawn = case("draw_and_its_probability", without_effect.CANCELLED)
    found = diagnose(run(drawn, engine)).findings
    assert [each.slug for each in found] == ["gradient-ends-in-zeros"]
    assert found[0].severity == "info"
    assert "`policy.rsample()` (line 9)" in found[0].message
