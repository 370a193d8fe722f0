"""GV618: shape-mismatch."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "last_of_the_batch_for_the_last_step",
        """
        import torch
        from torch import nn
        rnn, out = nn.GRU(3, 4, batch_first=True), nn.Linear(4, 2)
        states, _ = rnn(torch.randn(5, 7, 3))
        last = states[-1]  # CULPRIT
        loss = nn.functional.cross_entropy(out(last), torch.randint(0, 2, (5,)))
        loss.backward()
        """,
        "shape-mismatch",
        says=["The 5 samples get lost in `states[-1]` (line 5)"],
    ),
    case(
        "layers_of_other_sizes",
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(1, 2, 3)
                self.fc = nn.Linear(100, 5)  # CULPRIT

            def forward(self, x):
                x = torch.relu(self.conv(x))
                x = x.flatten(1)
                return self.fc(x)

        Net()(torch.randn(3, 1, 8, 8))
        """,
        "shape-mismatch",
        says=["(3, 72)", "(5, 100)"],
    ),
    case(
        "operands_of_other_sizes",
        """
        import torch

        a = torch.ones(3, 4, requires_grad=True)
        b = torch.ones(5)
        loss = (a * b).sum()  # CULPRIT
        """,
        "shape-mismatch",
        says=["`a` is (3, 4) since line 3", "`b` is (5,) since line 4"],
    ),
]
