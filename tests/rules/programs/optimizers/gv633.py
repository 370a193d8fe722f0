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
    case(
        "momentum_under_the_name_of_what_its_update_gives",
        _source("average.add_(0)", "update.mul_(self.lr)  # CULPRIT"),
        "state-scaled-by-alias",
        says=["no copy", "0.1"],
    ),
    case(
        "momentum_that_a_helper_updates_and_returns",
        """
        import torch
        net = torch.nn.Linear(4, 2)
        kept = {}

        def direction(p):
            if p not in kept:
                kept[p] = torch.zeros_like(p)
            return kept[p].mul_(0.9).add_(p.grad)

        @torch.no_grad()
        def step(lr):
            for p in net.parameters():
                move = direction(p)
                move *= -lr  # CULPRIT
                p.add_(move)
                p.grad = None

        for _ in range(4):
            net(torch.ones(3, 4)).square().mean().backward()
            step(0.05)
        """,
        "state-scaled-by-alias",
    ),
    case(
        "velocity_with_friction_and_its_scaled_copy",
        """
        import torch
        net = torch.nn.Linear(4, 2)
        kept = {}

        def velocity(p, lr):
            if p not in kept:
                kept[p] = torch.zeros_like(p)
            return kept[p].mul_(0.9).sub_(p.grad, alpha=lr)

        @torch.no_grad()
        def step(lr):
            for p in net.parameters():
                moving = velocity(p, lr)
                moving.mul_(0.98)
                p.add_(moving)
                ahead = moving.clone()
                ahead.mul_(0.1)
                p.add_(ahead)
                p.grad = None

        for _ in range(4):
            net(torch.ones(3, 4)).square().mean().backward()
            step(0.05)
        """,
    ),
]
