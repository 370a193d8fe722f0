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
    case(
        "criterion_of_its_own",
        """
        import torch
        from torch import nn

        class Weighted(nn.Module):
            def __init__(self):
                super().__init__()
                self.ce = nn.CrossEntropyLoss(reduction="none")

            def forward(self, scores, target):
                return (self.ce(scores, target) * 0.5).mean()  # CULPRIT

        out, criterion = nn.Linear(4, 6), Weighted()
        logits = out(torch.randn(2, 6, 4))
        criterion(logits, torch.randint(0, 6, (2, 6))).backward()
        """,
        "classes-in-another-dimension",
    ),
]
