"""GV645: parameter-made-in-forward."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "parameter_made_in_forward",
        """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.out = nn.Linear(3, 1)
            def forward(self, x):
                shift = nn.Parameter(torch.randn(3) * 0.1)  # CULPRIT
                return self.out(x + shift)
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            optimizer.zero_grad()
            net(torch.randn(4, 3)).square().mean().backward()
            optimizer.step()
        """,
        "parameter-made-in-forward",
        says=["3 so far"],
    ),
]
