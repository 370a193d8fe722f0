"""GV688: condition-turned-round."""

from __future__ import annotations

from tests.rules.harness import Case, case

_TRAINING = """
import torch
from torch import nn
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(12):
    (net(torch.randn(4, 3)).square().mean() / 4).backward()
    if TEST:  # CULPRIT
        opt.step()
        opt.zero_grad()
"""

PROGRAMS: list[Case] = [
    case(
        "step_on_all_but_each_fourth_pass",
        _TRAINING.replace("TEST", "(i + 1) % 4"),
        "condition-turned-round",
        says=["each 4th", "(i + 1) % 4 == 0"],
    ),
    case(
        "step_on_each_fourth_pass",
        _TRAINING.replace("TEST", "(i + 1) % 4 == 0").replace("  # CULPRIT", ""),
    ),
]
