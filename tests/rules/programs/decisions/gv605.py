"""GV605: an order of calls, each in a helper of its own."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "the_calls_of_two_helpers_came_in_the_wrong_order",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        class Trainer:
            def __init__(self, model):
                self.model = model
                self.opt = torch.optim.SGD(model.parameters(), lr=0.1)
            def fit(self, x, y):
                for _ in range(6):
                    loss = F.cross_entropy(self.model(x), y)
                    self.opt.zero_grad()
                    loss.backward()
                    self.opt.step()
        def new_head(net, n):
            net[2] = nn.Linear(8, n)
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 10))
        trainer = Trainer(net)  # CULPRIT
        new_head(net, 3)  # CULPRIT
        x = torch.randn(32, 4)
        y = torch.randint(0, 3, (32,))
        trainer.fit(x, y)
        """,
        "optimizer-stale-params",
    ),
]
