"""GV105-GV110: changed weights, other names of saved memory, unseen writes."""

from __future__ import annotations

from tests.rules.harness import Case, check, programs
from tests.rules.programs_inplace_aliases import ARRAYS, DATA, VIEWS
from tests.rules.programs_inplace_weights import STEPS


@programs(STEPS)
def test_a_step_before_backward_is_named(case: Case, engine: str) -> None:
    check(case, engine)


@programs(VIEWS)
def test_a_write_under_another_name_is_named(case: Case, engine: str) -> None:
    check(case, engine)


@programs(DATA)
def test_a_write_through_data_is_named(case: Case, engine: str) -> None:
    check(case, engine)


@programs(ARRAYS)
def test_a_write_to_an_array_is_named(case: Case, engine: str) -> None:
    check(case, engine)
