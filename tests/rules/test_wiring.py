"""Losses, layers, optimizers, loops and modes: what does not fit is named."""

from __future__ import annotations

import pytest

from gradviz.diagnosis.diagnose import diagnose
from tests.rules.harness import ENGINES, Case, case, check, programs, run
from tests.rules.programs_wiring import LOSSES
from tests.rules.programs_wiring_fine import FINE
from tests.rules.programs_wiring_fine_losses import FINE_LOSSES
from tests.rules.programs_wiring_fine_more import MORE_FINE
from tests.rules.programs_wiring_layers import LAYERS
from tests.rules.programs_wiring_log_losses import FINE as FINE_LOG_LOSSES
from tests.rules.programs_wiring_log_losses import WRONG as LOG_LOSSES
from tests.rules.programs_wiring_loops import LOOPS
from tests.rules.programs_wiring_more import MORE_WRONG
from tests.rules.programs_wiring_optimizers import FINE as FINE_OPTIMIZERS
from tests.rules.programs_wiring_optimizers import WRONG as OPTIMIZERS
from tests.rules.programs_wiring_rarer import FINE as RARER_FINE
from tests.rules.programs_wiring_rarer import WRONG as RARER_WRONG
from tests.rules.programs_wiring_schedules import FINE as FINE_SCHEDULES
from tests.rules.programs_wiring_schedules import WRONG as SCHEDULES
from tests.rules.programs_wiring_uncalled import WRONG as UNCALLED


@programs(LOSSES + LAYERS + LOG_LOSSES)
def test_parts_that_do_not_fit_are_named(case: Case, engine: str) -> None:
    check(case, engine)


@programs(LOOPS + MORE_WRONG + RARER_WRONG + SCHEDULES)
def test_the_line_out_of_order_is_named(case: Case, engine: str) -> None:
    check(case, engine)


@programs(OPTIMIZERS + FINE_OPTIMIZERS + UNCALLED)
def test_optimizers_and_what_they_are_given(case: Case, engine: str) -> None:
    check(case, engine)


@programs(
    FINE + FINE_LOSSES + MORE_FINE + RARER_FINE + FINE_SCHEDULES + FINE_LOG_LOSSES
)
def test_what_fits_stays_quiet(case: Case, engine: str) -> None:
    check(case, engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_parts_of_a_replaced_layer_are_no_results(engine: str) -> None:
    replaced = next(each for each in RARER_WRONG if "replaced_by" in each.name)
    found = diagnose(run(replaced, engine)).findings
    assert {each.slug for each in found} == {replaced.slug}


@pytest.mark.parametrize("engine", ENGINES)
def test_buffers_are_not_frozen_parameters(engine: str) -> None:
    source = """
        import torch
        from torch import nn

        class Net(nn.Linear):
            def __init__(self):
                super().__init__(4, 3)
                self.places = nn.Buffer(torch.arange(4))
                self.scale = nn.Buffer(torch.ones(4))

            def forward(self, x):
                return super().forward(x * self.scale + self.places)

        net = Net()
        loss = net(torch.randn(2, 4)).argmax(-1).float().mean()
        loss.backward()
    """
    found = diagnose(run(case("buffers", source), engine)).findings
    slugs = {each.slug for each in found}
    assert "forgotten-unfreeze" not in slugs
    assert found[0].severity == "error"
