"""GV648: parameter-in-two-groups."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "head_in_two_groups",
        """
        import torch
        from torch import nn
        net = nn.Sequential()
        net.body, net.head = nn.Linear(3, 4), nn.Linear(4, 1)
        optimizer = torch.optim.Adam([
            {"params": net.parameters()},  # CULPRIT
            {"params": net.head.parameters(), "lr": 1e-2},
        ])
        """,
        "parameter-in-two-groups",
        says=["`net` (line 6) has the parameters of `net.head`"],
    ),
]
