"""GV341: term-without-graph."""

from __future__ import annotations

from tests.rules.harness import Case, case
from tests.rules.shared import STEPS

PROGRAMS: list[Case] = [
    case(
        "penalty_on_data",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        x = torch.randn(6, 3)
        def penalty():
            return sum(p.data.abs().sum() for p in net.parameters())  # CULPRIT
        def step_loss():
            return net(x).square().mean() + 0.1 * penalty()
        """
        + STEPS,
        "term-without-graph",
        related=["added to the loss"],
    ),
    case(
        "load_of_chosen_experts",
        """
        import torch
        from torch import nn
        gate, expert = nn.Linear(3, 4), nn.Linear(3, 1)
        both = [*gate.parameters(), *expert.parameters()]
        optimizer = torch.optim.SGD(both, lr=0.1)
        x = torch.randn(9, 3)
        def step_loss():
            best, chosen = torch.softmax(gate(x), dim=-1).max(-1)
            error = (best.unsqueeze(1) * expert(x) - 1).square().mean()
            share = nn.functional.one_hot(chosen, 4).float().mean(0)  # CULPRIT
            return error + 0.01 * 4 * share.square().sum()
        """
        + STEPS,
        "term-without-graph",
    ),
]
