"""Gradients that cancel each other by design are said, and blamed on nobody."""

from __future__ import annotations

import pytest

from gradviz.diagnosis.diagnose import diagnose
from tests.rules.harness import ENGINES, case, run

CANCELLED = """
import torch
from torch import nn
from torch.distributions import Normal
mean, spread = nn.Linear(3, 2), nn.Parameter(torch.zeros(2))
optimizer = torch.optim.SGD([*mean.parameters(), spread], lr=0.1)
states = torch.randn(8, 3)
for step in range(3):
    policy = Normal(mean(states), spread.exp())
    action = policy.rsample()
    chance = policy.log_prob(action).sum(1)
    optimizer.zero_grad()
    (chance * states.sum(1)).mean().backward()
    optimizer.step()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_gradients_that_cancel_are_an_information(engine: str) -> None:
    drawn = case("draw_and_its_probability", CANCELLED)
    found = diagnose(run(drawn, engine)).findings
    assert [each.slug for each in found] == ["gradient-ends-in-zeros"]
    assert found[0].severity == "info"
    assert "`policy.rsample()` (line 9)" in found[0].message
