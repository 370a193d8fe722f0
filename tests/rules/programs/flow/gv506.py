"""GV506: zero-factors."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "adapter_of_two_zeros",
        """
        import torch
        import torch.nn as nn
        class Adapter(nn.Module):
            def __init__(self, base, rank=2):
                super().__init__()
                self.base = base.requires_grad_(False)
                self.down = nn.Parameter(torch.zeros(base.in_features, rank))  # CULPRIT
                self.up = nn.Parameter(torch.zeros(rank, base.out_features))
            def forward(self, x):
                return self.base(x) + x @ self.down @ self.up
        net = nn.Sequential(Adapter(nn.Linear(4, 6)), nn.Tanh(), nn.Linear(6, 2))
        opt = torch.optim.Adam([p for p in net.parameters() if p.requires_grad])
        for _ in range(3):
            loss = net(torch.randn(8, 4)).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "zero-factors",
        says=["`0.down` and of `0.up`"],
        related=["0 as well"],
    ),
    case(
        "layers_zeroed_by_an_initialiser",
        """
        import torch
        import torch.nn as nn
        def init(m):
            if isinstance(m, nn.Linear):
                nn.init.zeros_(m.weight)  # CULPRIT
                nn.init.zeros_(m.bias)
        net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
        net.apply(init)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            loss = (net(torch.randn(8, 4)) - 1).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "zero-factors",
    ),
    case(
        "gate_of_zeros_before_a_layer_of_zeros",
        """
        import torch
        from torch import nn

        class Branch(nn.Module):
            def __init__(self, dim):
                super().__init__()
                self.out = nn.Linear(dim, dim)
                nn.init.zeros_(self.out.weight)  # CULPRIT
                nn.init.zeros_(self.out.bias)
                self.gate = nn.Parameter(torch.zeros(1))  # CULPRIT

            def forward(self, x):
                return x + self.out(x.tanh()) * self.gate

        net = nn.Sequential(Branch(4), Branch(4), nn.Linear(4, 1))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.randn(8, 4)).square().mean().backward()
            optimizer.step()
        """,
        "zero-factors",
        says=["`0.out.weight` and of `0.gate`"],
    ),
    case(
        "gate_of_zeros_before_layers_that_are_not",
        """
        import torch
        from torch import nn

        class Branch(nn.Module):
            def __init__(self, dim):
                super().__init__()
                self.out = nn.Linear(dim, dim)
                self.gate = nn.Parameter(torch.zeros(1))

            def forward(self, x):
                return x + self.out(x.tanh()) * self.gate

        net = nn.Sequential(Branch(4), Branch(4), nn.Linear(4, 1))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.randn(8, 4)).square().mean().backward()
            optimizer.step()
        """,
    ),
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
    case(
        "both_low_rank_factors_zero",
        """
        import torch
        import torch.nn as nn
        base = nn.Linear(6, 3).requires_grad_(False)
        a = nn.Parameter(torch.zeros(2, 6))  # CULPRIT
        b = nn.Parameter(torch.zeros(3, 2))  # INSTEAD
        opt = torch.optim.SGD([a, b], lr=0.1)
        for _ in range(3):
            x = torch.randn(8, 6)
            loss = (base(x) + x @ a.t() @ b.t()).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "zero-factors",
    ),
]
