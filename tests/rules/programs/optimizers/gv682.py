"""GV682: frozen-parameter-moves."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "adam_goes_on_with_zeros",
        """
        import torch
        from torch import nn

        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)

        def train(steps):
            for step in range(steps):
                x = torch.randn(16, 4)
                optimizer.zero_grad(set_to_none=False)
                model(x).square().mean().backward()
                optimizer.step()

        train(3)
        for p in model[0].parameters():
            p.requires_grad = False  # CULPRIT
        train(3)
        """,
        "frozen-parameter-moves",
        says=["`.grad`"],
    ),
]
