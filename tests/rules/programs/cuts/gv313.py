"""GV313: numpy-on-requires-grad."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "plot_of_a_prediction",
        """
        import torch
        from torch import nn

        net = nn.Linear(2, 1)

        def curve(x):
            y = net(x)
            return y.squeeze(1).numpy()  # CULPRIT

        curve(torch.randn(5, 2))
        """,
        "numpy-on-requires-grad",
    ),
]
