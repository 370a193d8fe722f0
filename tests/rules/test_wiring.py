"""Losses, layers, optimizers, loops and modes: what does not fit is named."""

from __future__ import annotations

import pytest

from gradviz.diagnosis.diagnose import diagnose
from tests.rules.harness import ENGINES, case, run
from tests.rules.tables import named


@pytest.mark.parametrize("engine", ENGINES)
def test_parts_of_a_replaced_layer_are_no_results(engine: str) -> None:
    replaced = named("layer_replaced_by_a_helper")
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
