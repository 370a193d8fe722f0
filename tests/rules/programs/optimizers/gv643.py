"""GV643: optimizer-given-twice."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "one_model_in_both_optimizers",
        """
        import torch
        from torch import nn
        actor, critic = nn.Linear(3, 2), nn.Linear(3, 1)
        critic_optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
        actor_optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)  # CULPRIT
        for step in range(2):
            x = torch.randn(4, 3)
            critic_optimizer.zero_grad()
            critic(x).square().mean().backward()
            critic_optimizer.step()
            actor_optimizer.zero_grad()
            (actor(x).sum(1) * critic(x)[:, 0]).mean().backward()
            actor_optimizer.step()
        """,
        "optimizer-given-twice",
        says=["`critic_optimizer` (line 4)", "`actor.bias` and `actor.weight`"],
    ),
]
