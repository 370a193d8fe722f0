"""GV617: device-mismatch."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "input_left_on_the_cpu",
        """
        import torch
        from torch import nn

        net = nn.Linear(3, 1).to("meta")
        x = torch.randn(5, 3)  # CULPRIT
        net(x * 2)
        """,
        "device-mismatch",
        engines=("torch",),
    ),
    case(
        "table_in_a_plain_attribute",
        """
        import torch
        from torch import nn

        def waves(length, dim):
            at = torch.arange(length)[:, None] / torch.arange(1, dim + 1)
            return at.sin()

        class Positions(nn.Module):
            def __init__(self, length, dim):
                super().__init__()
                self.table = waves(length, dim)  # CULPRIT
            def forward(self, x):
                return x + self.table[:x.size(1)]

        with torch.device("meta"):
            net = nn.Sequential(nn.Linear(3, 4), Positions(6, 4))
        net.to_empty(device="cpu")
        for each in net.parameters():
            nn.init.ones_(each)
        x = torch.randn(2, 5, 3)
        net(x).sum().backward()
        """,
        "device-mismatch",
        says=["plain attribute"],
        engines=("torch",),
    ),
    case(
        "input_left_behind_where_an_attribute_is_not",
        """
        import torch
        from torch import nn

        class Shifted(nn.Module):
            def __init__(self, device):
                super().__init__()
                self.layer = nn.Linear(3, 3, device=device)
                self.shift = torch.ones(3, device=device)
            def forward(self, x):
                return self.layer(x + self.shift)

        net = Shifted("meta")
        x = torch.randn(5, 3)  # CULPRIT
        net(x)
        """,
        "device-mismatch",
        engines=("torch",),
    ),
]
