"""GV242: hook-keeps-outputs."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "hook_collects_outputs",
        """
        import torch
        from torch import nn
        net, seen = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)), []
        def collect(module, inputs, output):
            seen.append(output)  # CULPRIT
        net[1].register_forward_hook(collect)
        for step in range(4):
            net(torch.randn(5, 3)).square().mean().backward()
        """,
        "hook-keeps-outputs",
        says=["keeps 4 outputs"],
    ),
]
