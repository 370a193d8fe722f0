"""GV618: a layer whose input was not flattened."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "flattened_from_the_wrong_dimension",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        def flatten(x):
            return x.flatten(2)  # CULPRIT
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(1, 4, 3)
                self.fc = nn.Linear(4 * 26 * 26, 10)
            def forward(self, x):
                return self.fc(flatten(self.conv(x)))
        net = Net()
        net(torch.randn(2, 1, 28, 28)).sum().backward()
        """,
        "shape-mismatch",
        says=["not flattened", "….flatten(1)"],
    ),
]
