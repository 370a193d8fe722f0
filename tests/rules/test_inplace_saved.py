"""GV101-GV106: overwritten saved tensors."""

from __future__ import annotations

from tests.rules.harness import Case, check, programs
from tests.rules.programs_inplace_saved import INPUTS, OUTPUTS, SLICES


@programs(OUTPUTS)
def test_an_overwritten_result_names_the_write(case: Case, engine: str) -> None:
    check(case, engine)


@programs(INPUTS)
def test_an_overwritten_input_names_the_write(case: Case, engine: str) -> None:
    check(case, engine)


@programs(SLICES)
def test_a_write_beside_a_saved_slice_is_named(case: Case, engine: str) -> None:
    check(case, engine)
