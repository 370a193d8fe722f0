"""GV124: overlapping-operands."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "shifted_sum",
        """
        import torch

        x = torch.arange(5.0)
        x[1:] += x[:-1]  # CULPRIT
        """,
        "overlapping-operands",
    ),
]
