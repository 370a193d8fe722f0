"""GV676: units-all-alike."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "every_layer_filled_with_a_tenth",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        def initialise(layer):
            if isinstance(layer, nn.Linear):
                nn.init.constant_(layer.weight, 0.1)  # CULPRIT
                nn.init.zeros_(layer.bias)

        net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
        net.apply(initialise)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            x = torch.randn(8, 4)
            loss = F.mse_loss(net(x), x.sum(1, keepdim=True))
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "units-all-alike",
        says=["the 16 units between them"],
    ),
    case(
        "matrices_of_ones",
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.up = nn.Parameter(torch.ones(3, 6))  # CULPRIT
                self.shift = nn.Parameter(torch.zeros(6))
                self.down = nn.Parameter(torch.ones(6, 2))

            def forward(self, x):
                return torch.sigmoid(x @ self.up + self.shift) @ self.down

        net = Net()
        opt = torch.optim.Adam(net.parameters(), lr=0.01)
        for step in range(3):
            x, y = torch.randn(8, 3), torch.randn(8, 2)
            loss = (net(x) - y).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "units-all-alike",
        related=["filled with one number, too"],
    ),
    case(
        "filled_by_a_partial_among_the_settings",
        """
        from functools import partial

        import torch
        from torch import nn

        START = dict(
            weight=partial(nn.init.constant_, val=0.05),  # CULPRIT
            bias=nn.init.zeros_,
        )

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.lower, self.upper = nn.Linear(4, 8), nn.Linear(8, 2)
                for layer in (self.lower, self.upper):
                    START["weight"](layer.weight)
                    START["bias"](layer.bias)

            def forward(self, x):
                return self.upper(self.lower(x).tanh())

        net = Net()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            x = torch.randn(8, 4)
            loss = (net(x) - x[:, :2]).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "units-all-alike",
        related=["filled here"],
    ),
]
