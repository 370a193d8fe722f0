"""GV644: classes-in-another-dimension."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "classes_left_in_the_last_dimension",
        """
        import torch
        from torch import nn
        out = nn.Linear(4, 6)
        logits = out(torch.randn(2, 6, 4))
        target = torch.randint(0, 6, (2, 6))
        loss = nn.functional.cross_entropy(logits, target)  # CULPRIT
        loss.backward()
        """,
        "classes-in-another-dimension",
        says=["`logits` has shape (2, 6, 6)", "`logits.transpose(1, 2)`"],
    ),
]
