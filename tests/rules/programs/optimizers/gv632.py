"""GV632: pruned-weights-return."""

from __future__ import annotations

from tests.rules.harness import Case, case

_SOURCE = """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(8, 4)
opt = torch.optim.{optimizer}
mask = None
for step in range(8):
    x = torch.randn(16, 8)
    opt.zero_grad()
    (net(x) - x[:, :4]).square().mean().backward()
    if mask is not None:
        net.weight.grad.mul_(mask)
    opt.step(){mark}
    if step == 3:
        mask = (net.weight.abs() > net.weight.abs().median()).float()
    {again}:
        with torch.no_grad():
            net.weight.mul_(mask)
"""


def _source(optimizer: str, again: str, mark: str = "") -> str:
    return _SOURCE.format(optimizer=optimizer, again=again, mark=mark)


_MOMENTUM = "SGD(net.parameters(), lr=0.1, momentum=0.9)"

PROGRAMS: list[Case] = [
    case(
        "pruned_once_with_momentum",
        _source(_MOMENTUM, "if step == 3", "  # CULPRIT"),
        "pruned-weights-return",
        says=["`net.weight.mul_(mask)`", "Mask the weights again"],
    ),
    case(
        "pruned_once_with_adam",
        _source("Adam(net.parameters(), lr=0.01)", "if step == 3", "  # CULPRIT"),
        "pruned-weights-return",
    ),
    case(
        "pruned_again_after_each_step",
        _source(_MOMENTUM, "if mask is not None"),
    ),
    case(
        "pruned_once_without_momentum",
        _source("SGD(net.parameters(), lr=0.1)", "if step == 3"),
    ),
]
