"""GV503: dead-relu."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "bias_far_below_zero",
        """
        import torch
        import torch.nn as nn
        layer = nn.Linear(4, 8)
        nn.init.constant_(layer.bias, -50.0)  # CULPRIT
        head = nn.Linear(8, 1)
        h = torch.relu(layer(torch.randn(16, 4)))
        head(h).pow(2).mean().backward()
        """,
        "dead-relu",
        related=["always 0"],
    ),
    case(
        "bias_filled_without_gradients",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 1))
        with torch.no_grad():
            net[0].bias.fill_(-100)  # CULPRIT
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            net(torch.rand(8, 3)).mean().backward()
            opt.step()
        """,
        "dead-relu",
    ),
    case(
        "bias_of_a_matrix_product",
        """
        import torch
        w = torch.ones(2, 4, requires_grad=True)
        b = torch.full((4,), -10.0, requires_grad=True)  # CULPRIT
        x = torch.ones(3, 2)
        h = torch.relu(x @ w + b)
        h.sum().backward()
        """,
        "dead-relu",
    ),
    case(
        "bias_through_data",
        """
        import torch
        import torch.nn as nn
        lin = nn.Linear(2, 4)
        lin.bias.data.fill_(-30.0)  # CULPRIT
        out = nn.functional.relu(lin(torch.ones(4, 2)))
        (out.sum() - 1).pow(2).backward()
        """,
        "dead-relu",
    ),
    case(
        "bias_below_a_clamp",
        """
        import torch
        import torch.nn as nn
        lin = nn.Linear(3, 4)
        lin.bias = nn.Parameter(torch.full((4,), -20.0))  # CULPRIT
        lin(torch.rand(5, 3)).clamp(min=0).sum().backward()
        """,
        "dead-relu",
    ),
    case(
        "killed_by_a_large_step",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
        opt = torch.optim.SGD(net.parameters(), lr=20.0)  # CULPRIT
        x = torch.rand(32, 4)
        y = torch.zeros(32, 1)
        for _ in range(6):
            loss = (net(x) - y - 5).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(net[0].weight.grad.abs().sum())
        """,
        "dead-relu",
    ),
]
