"""GV649: weights-over-the-batch."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "attention_weights_over_the_batch",
        """
        import torch
        from torch import nn
        score = nn.Linear(3, 1)
        frames = torch.randn(4, 5, 3)
        weights = torch.softmax(score(frames), dim=0)  # CULPRIT
        pooled = (weights * frames).sum(dim=1)
        pooled.square().mean().backward()
        """,
        "weights-over-the-batch",
        says=["dimension 0 of (4, 5, 1)", "`dim=1`"],
    ),
]
