"""GV507: second-derivative-of-kinks."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "second_derivative_of_relus",
        """
        import torch
        from torch import nn
        net = nn.Sequential(
            nn.Linear(1, 8),
            nn.ReLU(),  # CULPRIT
            nn.Linear(8, 1),
        )
        x = torch.rand(6, 1, requires_grad=True)
        first = torch.autograd.grad(net(x).sum(), x, create_graph=True)[0]
        second = torch.autograd.grad(first.sum(), x, create_graph=True)[0]
        (second + 1).square().mean().backward()
        """,
        "second-derivative-of-kinks",
        says=["that line 10 asks for", "`nn.ReLU()` (line 5)"],
    ),
]
