"""GV650: samples-meet-columns."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "noise_levels_along_the_columns",
        """
        import torch
        from torch import nn
        levels, net = torch.linspace(0.1, 1, 9), nn.Conv2d(1, 1, 1)
        steps = torch.randint(0, 9, (4,))
        images = torch.randn(4, 1, 4, 4)
        level = levels[steps]
        noisy = images * level.sqrt()  # CULPRIT
        net(noisy).square().mean().backward()
        """,
        "samples-meet-columns",
        says=["looked up in line 6", "`.view(-1, 1, 1, 1)`"],
    ),
]
