"""What was taken for something else is named, and derivatives that go missing."""

from __future__ import annotations

from tests.rules import programs_lost_derivatives, programs_mixed_up
from tests.rules import programs_without_effect as without_effect
from tests.rules.harness import Case, check, programs

WITHOUT_EFFECT = [
    *without_effect.FACTORS,
    *without_effect.ROWS,
    *without_effect.MASKS,
    *without_effect.TERMS,
    *without_effect.OTHERS,
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
