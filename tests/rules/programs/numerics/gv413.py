"""GV413: half-precision-overflow."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "a_sum_of_squares_in_half",
        """
        import torch
        h = torch.full((8,), 300.0, dtype=torch.float16, requires_grad=True)
        loss = (h * h).sum()  # CULPRIT
        loss.backward()
        """,
        "half-precision-overflow",
    ),
    case(
        "scores_too_large_for_half",
        """
        import torch
        q = torch.full((2, 4), 200.0, dtype=torch.float16)
        k = torch.full((2, 4), 200.0, dtype=torch.float16, requires_grad=True)
        scores = q @ k.T  # CULPRIT
        torch.softmax(scores, -1)[:, 0].sum().backward()
        """,
        "half-precision-overflow",
    ),
]
