"""GV652: first-sample-only."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "first_of_a_batch_against_all_targets",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 2)
        x, y = torch.randn(6, 3), torch.randn(6, 2)
        prediction = net(x)[0]  # CULPRIT
        (prediction - y).square().mean().backward()
        """,
        "first-sample-only",
        says=["first of 6 samples"],
    ),
]
