"""GV646: gradient-into-a-copy."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "target_network_with_its_graph",
        """
        import copy
        import torch
        from torch import nn
        online = nn.Linear(3, 2)
        target = copy.deepcopy(online)
        optimizer = torch.optim.SGD(online.parameters(), lr=0.1)
        for step in range(3):
            x = torch.randn(4, 3)
            best = target(x + 1).max(dim=1).values  # CULPRIT
            loss = (online(x)[:, 0] - best).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            target.load_state_dict(online.state_dict())
        """,
        "gradient-into-a-copy",
        says=["`target` is a copy", "3 backward passes"],
    ),
]
