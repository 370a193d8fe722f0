"""GV651: mask-without-effect."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "padding_filled_with_almost_zero",
        """
        import torch
        from torch import nn
        score, tokens = nn.Linear(3, 1), torch.randn(2, 5, 3)
        mask = torch.arange(5) < torch.tensor([[5], [3]])
        scores = score(tokens).squeeze(-1)
        scores = scores.masked_fill(mask == 0, 1e-9)  # CULPRIT
        weights = torch.softmax(scores, dim=-1)
        (weights.unsqueeze(-1) * tokens).sum(1).square().sum().backward()
        """,
        "mask-without-effect",
        says=["as much weight as other places"],
    ),
    case(
        "padding_filled_with_the_wrong_sign",
        """
        import torch
        from torch import nn
        score, tokens = nn.Linear(3, 1), torch.randn(2, 5, 3)
        mask = torch.arange(5) < torch.tensor([[5], [3]])
        scores = score(tokens).squeeze(-1)
        scores = torch.where(mask, scores, 1e9)  # CULPRIT
        weights = nn.functional.softmax(scores, dim=-1)
        (weights.unsqueeze(-1) * tokens).sum(1).square().sum().backward()
        """,
        "mask-without-effect",
        says=["all weight"],
    ),
]
