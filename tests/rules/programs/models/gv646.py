"""GV646: gradient-into-a-copy."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "target_fed_by_what_learns",
        """
        import copy
        import torch
        from torch import nn
        encoder, online = nn.Linear(3, 3), nn.Linear(3, 2)
        target = copy.deepcopy(online)
        both = [*encoder.parameters(), *online.parameters()]
        optimizer = torch.optim.SGD(both, lr=0.1)
        for step in range(3):
            x = torch.randn(4, 3)
            best = target(encoder(x + 1)).max(dim=1).values  # CULPRIT
            loss = (online(encoder(x))[:, 0] - best).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            target.load_state_dict(online.state_dict())
        """,
        "gradient-into-a-copy",
        says=["is a copy"],
    ),
]
