"""GV603: broadcast-mse-loss."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "mse_loss_module",
        """
        import torch
        from torch import nn

        net = nn.Linear(2, 1)
        criterion = nn.MSELoss()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            x, y = torch.randn(4, 2), torch.randn(4)
            out = net(x)
            loss = criterion(out, y)  # CULPRIT
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "broadcast-mse-loss",
        says=["(4, 1)", "(4,)"],
    ),
    case(
        "smooth_l1_loss",
        """
        import torch
        import torch.nn.functional as F
        from torch import nn

        net = nn.Linear(2, 1)
        out = net(torch.randn(4, 2)).squeeze()
        loss = F.smooth_l1_loss(out, torch.randn(4, 1))  # CULPRIT
        loss.backward()
        """,
        "broadcast-mse-loss",
    ),
    case(
        "values_of_the_actions_taken",
        """
        import torch
        from torch import nn
        q, criterion = nn.Linear(3, 2), nn.MSELoss()
        def taken(states, actions):
            return q(states).gather(1, actions)  # CULPRIT
        def step(states, actions, rewards):
            goal = rewards + 0.9 * q(states).detach().max(1).values
            criterion(taken(states, actions), goal).backward()
        actions = torch.randint(2, (6,)).unsqueeze(1)
        step(torch.randn(6, 3), actions, torch.randn(6))
        """,
        "broadcast-mse-loss",
        related=["compared here"],
    ),
]
