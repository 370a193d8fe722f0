"""GV613: results of a model with dropout that are asked to be equal."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "two_evaluations_asked_to_be_equal",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 32), nn.Dropout(0.5), nn.Linear(32, 1))
        x = torch.ones(2, 4)
        with torch.no_grad():
            once = net(x)  # CULPRIT
            again = net(x)
        print("same:", torch.allclose(once, again))
        """,
        "dropout-active-in-eval",
    ),
]
