"""GV617: device-mismatch."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "input_left_on_the_cpu",
        """
        import torch
        from torch import nn

        net = nn.Linear(3, 1).to("meta")
        x = torch.randn(5, 3)  # CULPRIT
        net(x * 2)
        """,
        "device-mismatch",
        engines=("torch",),
    ),
]
