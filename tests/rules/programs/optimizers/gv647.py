"""GV647: optimizer-made-anew."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "optimizer_in_the_step",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        def step(x):
            optimizer = torch.optim.Adam(net.parameters())  # CULPRIT
            optimizer.zero_grad()
            net(x).square().mean().backward()
            optimizer.step()
        for _ in range(4):
            step(torch.randn(4, 3))
        """,
        "optimizer-made-anew",
        says=["made 4 optimizers"],
    ),
]
