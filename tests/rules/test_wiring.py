"""Losses, layers, optimizers, loops and modes: what does not fit is named."""

from __future__ import annotations

from tests.rules.harness import Case, check, programs
from tests.rules.programs_wiring import LOSSES
from tests.rules.programs_wiring_fine import FINE
from tests.rules.programs_wiring_fine_losses import FINE_LOSSES
from tests.rules.programs_wiring_fine_more import MORE_FINE
from tests.rules.programs_wiring_layers import LAYERS
from tests.rules.programs_wiring_loops import LOOPS
from tests.rules.programs_wiring_more import MORE_WRONG
from tests.rules.programs_wiring_rarer import FINE as RARER_FINE
from tests.rules.programs_wiring_rarer import WRONG as RARER_WRONG


@programs(LOSSES + LAYERS)
def test_parts_that_do_not_fit_are_named(case: Case, engine: str) -> None:
    check(case, engine)


@programs(LOOPS + MORE_WRONG + RARER_WRONG)
def test_the_line_out_of_order_is_named(case: Case, engine: str) -> None:
    check(case, engine)


@programs(FINE + FINE_LOSSES + MORE_FINE + RARER_FINE)
def test_what_fits_stays_quiet(case: Case, engine: str) -> None:
    check(case, engine)
