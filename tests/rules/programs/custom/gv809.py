"""GV809: missing-second-derivative."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "penalty_through_cdist",
        """
        import torch
        x = torch.tensor([[0.0, 1.0], [2.0, 0.0]], requires_grad=True)
        d = torch.cdist(x, x + 1)  # CULPRIT
        grad, = torch.autograd.grad(d.sum(), x, create_graph=True)
        grad.pow(2).sum().backward()
        """,
        "missing-second-derivative",
        engines=("torch",),
    ),
]
