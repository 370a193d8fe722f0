"""GV316: nothing-requires-grad."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "nothing_asked_for_a_gradient",
        """
        import torch

        x = torch.arange(4.0)
        w = torch.ones(4)  # CULPRIT
        loss = (w * x).sum()
        loss.backward()
        """,
        "nothing-requires-grad",
    ),
    case(
        "switch_with_a_letter_too_few",
        """
        import torch
        x, w = torch.randn(5, 2), torch.randn(2)
        w.require_grad = True  # CULPRIT
        (x @ w).pow(2).mean().backward()
        """,
        "nothing-requires-grad",
        says=["`w.require_grad` is no switch"],
    ),
]
