"""GV208: nonleaf-after-to."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "double_after_the_leaf",
        """
        import torch
        w = torch.randn(3, 2, requires_grad=True)
        w64 = w.double()  # CULPRIT
        x = torch.ones(4, 3, dtype=torch.float64)
        loss = (x @ w64).pow(2).sum()
        loss.backward()
        step = 0.1 * w64.grad
        """,
        "nonleaf-after-to",
    ),
    case(
        "scaled_at_birth",
        """
        import torch
        w = torch.randn(3, requires_grad=True) * 0.01  # CULPRIT
        for step in range(2):
            loss = (w * torch.ones(3)).sum()
            loss.backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
        """,
        "nonleaf-after-to",
    ),
    case(
        "reshaped_at_birth",
        """
        import torch
        kernel = torch.ones(9, requires_grad=True).reshape(3, 3)  # CULPRIT
        (kernel * 2).sum().backward()
        print(kernel.grad)
        """,
        "nonleaf-after-to",
    ),
    case(
        "parameter_converted",
        """
        import torch
        import torch.nn as nn
        class Scale(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(2, 2)
                self.gain = nn.Parameter(torch.ones(2)).to(torch.float64)  # CULPRIT
            def forward(self, x):
                return self.lin(x) * self.gain
        net = Scale()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            optimizer.zero_grad()
            net(torch.ones(3, 2)).sum().backward()
            optimizer.step()
        """,
        "nonleaf-after-to",
    ),
    case(
        "moved_after_the_leaf",
        """
        import torch
        device = "cpu"
        w = torch.randn(3, requires_grad=True).to(torch.float64).to(device)  # CULPRIT
        for step in range(2):
            loss = (w ** 2).sum()
            loss.backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
        """,
        "nonleaf-after-to",
    ),
    case(
        "converted_in_a_helper",
        """
        import torch
        def parameter(*shape):
            return torch.zeros(*shape, requires_grad=True).double()  # CULPRIT
        p = parameter(2, 2)
        loss = (torch.ones(3, 2, dtype=torch.float64) @ p - 1).pow(2).mean()
        loss.backward()
        print(p.grad)
        """,
        "nonleaf-after-to",
    ),
    case(
        "scaled_where_it_is_asked_for_gradients",
        """
        import torch
        from torch import nn
        class Attack:
            def __init__(self, eps=0.2):
                self.eps = eps
            def start(self, like):
                noise = torch.rand(like.shape)
                return self.eps * (2 * noise.requires_grad_() - 1)  # CULPRIT
            def run(self, net, x):
                delta = self.start(x)
                net(x + delta).sum().backward()
                return delta.grad.sign()
        net = nn.Linear(3, 1)
        Attack().run(net, torch.randn(4, 3))
        """,
        "nonleaf-after-to",
    ),
    case(
        "scaled_after_the_leaf_in_a_helper",
        """
        import torch
        def start(n):
            noise = torch.rand(n, requires_grad=True)
            scaled = noise * 0.1  # CULPRIT
            return scaled
        weights = start(3)
        (weights * torch.ones(3)).sum().backward()
        print(weights.grad)
        """,
        "nonleaf-after-to",
    ),
]
