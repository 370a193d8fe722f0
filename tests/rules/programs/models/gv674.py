"""GV674: gradient-norm-in-parts."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "norm_along_the_channels",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        critic = nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.Tanh(), nn.Flatten(), nn.Linear(64, 1)
        )
        opt = torch.optim.Adam(critic.parameters())
        for step in range(3):
            x = torch.randn(5, 1, 6, 6, requires_grad=True)
            score = critic(x)
            ones = torch.ones_like(score)
            g = torch.autograd.grad(score, x, ones, create_graph=True)[0]
            penalty = ((g.norm(2, dim=1) - 1) ** 2).mean()  # CULPRIT
            loss = score.mean() + 10 * penalty
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "gradient-norm-in-parts",
        says=["36 gradient norms", "g.flatten(1)"],
    ),
]
