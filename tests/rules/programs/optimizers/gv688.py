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

_ENGINE = """
import torch
from torch import nn
class Engine:
    def __init__(self, net, every):
        self.net, self.every, self.passes = net, every, 0
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1)
    @property
    def at_boundary(self):
        return TEST
    def backward(self, loss):
        (loss / self.every).backward()
        self.passes += 1
    def step(self):
        if self.at_boundary:
            self.opt.step()
            self.opt.zero_grad()
engine = Engine(nn.Linear(3, 1), 4)
for i in range(12):
    engine.backward(engine.net(torch.randn(4, 3)).square().mean())
    engine.step()
"""

_GUARD = """
import torch
from torch import nn
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
def update():
    opt.step()
    opt.zero_grad()
for i in range(12):
    (net(torch.randn(4, 3)).square().mean() / 4).backward()
    waits = TEST
    if waits:
        continue
    update()
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
    case(
        "step_where_a_property_says_so",
        _ENGINE.replace("TEST", "bool(self.passes % self.every)  # CULPRIT"),
        "condition-turned-round",
        says=["self.passes % self.every == 0"],
    ),
    case(
        "step_where_a_property_says_so_each_fourth_pass",
        _ENGINE.replace("TEST", "self.passes % self.every == 0"),
    ),
    case(
        "step_behind_a_guard",
        _GUARD.replace("TEST", "i % 4 == 3  # CULPRIT"),
        "condition-turned-round",
        says=["i % 4 != 3"],
    ),
    case("step_behind_a_guard_each_fourth_pass", _GUARD.replace("TEST", "i % 4 != 3")),
]
