"""GV689: weight-cut-to-zero."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "annealing_by_whole_numbers",
        """
        import torch
        from torch import nn

        class Schedule:
            def __init__(self, total):
                self.total, self.step = total, 0

            def __call__(self):
                weight = min(1.0, self.step // self.total)  # CULPRIT
                self.step += 1
                return weight

        net, weight = nn.Linear(3, 2), Schedule(9)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(6):
            mean, spread = net(torch.randn(4, 3)).square().mean(0).unbind(0)
            now = weight()
            loss = mean + now * spread
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "weight-cut-to-zero",
        says=["self.step // self.total"],
    ),
    case(
        "weights_that_are_switched_off",
        """
        import torch
        from torch import nn
        net, off, cut = nn.Linear(3, 2), 0.0, 0
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(6):
            mean, spread = net(torch.randn(4, 3)).square().mean(0).unbind(0)
            loss = mean + off * spread + (step // 4) * spread
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ),
]
