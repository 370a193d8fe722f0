"""GV225: gradient-before-backward."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "zeroed_before_there_is_a_gradient",
        """
        import torch
        a = torch.randn(1, requires_grad=True)
        t = torch.linspace(0, 1, 10)
        for epoch in range(2):
            a.grad.zero_()  # CULPRIT
            (a * t - 1).pow(2).mean().backward()
        """,
        "gradient-before-backward",
        says=["`a.grad = None`"],
    ),
]
