"""GV633: state-scaled-by-alias."""

from __future__ import annotations

from tests.rules.harness import Case, case

_SOURCE = """
import torch
from torch import nn

class Momentum:
    def __init__(self, params, lr):
        self.params, self.lr = list(params), lr
        self.state = [torch.zeros_like(p) for p in self.params]

    @torch.no_grad()
    def step(self):
        for p, average in zip(self.params, self.state):
            average.mul_(0.9).add_(p.grad, alpha=0.1)
            update = {update}
            {scale}
            p.sub_(update)
            p.grad = None

torch.manual_seed(0)
net = nn.Linear(8, 3)
opt = Momentum(net.parameters(), 0.1)
for _ in range(5):
    x = torch.randn(16, 8)
    (net(x) - x[:, :3]).square().mean().backward()
    opt.step()
"""


def _source(update: str, scale: str = "update.mul_(self.lr)") -> str:
    return _SOURCE.format(update=update, scale=scale)


PROGRAMS: list[Case] = [
    case(
        "momentum_scaled_by_the_rate",
        _source("average  # CULPRIT"),
        "state-scaled-by-alias",
        says=["`average`", "average.clone()", "0.1"],
    ),
    case("a_copy_of_momentum_scaled_by_the_rate", _source("average.clone()")),
    case(
        "a_product_of_momentum_and_the_rate",
        _source("average", "update = update * self.lr"),
    ),
]
