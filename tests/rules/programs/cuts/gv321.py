"""GV321: backward-of-a-number."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "backward_of_a_sum_of_numbers",
        """
        import torch
        from torch import nn
        nets = [nn.Linear(3, 1), nn.Linear(3, 1)]
        total = 0.0
        for net in nets:
            total += net(torch.randn(5, 3)).square().mean().item()  # CULPRIT
        total.backward()
        """,
        "backward-of-a-number",
        says=["`total.backward` (line 7)"],
    ),
]
