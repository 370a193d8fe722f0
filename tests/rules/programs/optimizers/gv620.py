"""GV620: step-without-backward."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "steps_without_backward",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 1)
        opt = torch.optim.Adam(net.parameters())
        def train_step(x):
            loss = net(x).pow(2).mean()
            opt.zero_grad()
            opt.step()  # CULPRIT
            return loss.item()
        history = [train_step(torch.randn(4, 3)) for _ in range(3)]
        """,
        "step-without-backward",
        says=["3 times", "on the loss before `step()`"],
    ),
    case(
        "backward_uncalled",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), 0.1)
        for _ in range(3):
            loss = net(torch.randn(4, 3)).pow(2).mean()
            opt.zero_grad()
            loss.backward  # CULPRIT
            opt.step()
        """,
        "step-without-backward",
    ),
]
