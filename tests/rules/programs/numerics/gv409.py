"""GV409: nan-exp-overflow."""

from __future__ import annotations

from tests.rules.harness import Case, case
from tests.rules.shared import STEPS

PROGRAMS: list[Case] = [
    case(
        "logarithm_of_a_quotient_by_inf",
        """
        import torch
        from torch import nn
        net = nn.Linear(2, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        x = torch.tensor([[1.0, 2.0], [400.0, 400.0]])
        with torch.no_grad():
            net.weight.fill_(1.0)
        def step_loss():
            mean = torch.log(1 + torch.exp(net(x)))  # CULPRIT
            share = 2 / (2 + mean)
            return -torch.log(share).mean()
        """
        + STEPS,
        "nan-exp-overflow",
    ),
    case(
        "softmax_by_hand",
        """
        import torch
        import torch.nn as nn
        class Softmax(nn.Module):
            def forward(self, z):
                e = z.exp()  # CULPRIT
                return e / e.sum(-1, keepdim=True)
        net = nn.Linear(2, 3)
        p = Softmax()(net(torch.tensor([[1e4, 1e4]])).abs())
        p.pow(2).sum().backward()
        """,
        "nan-exp-overflow",
        says=["`z.clamp(max=10)`"],
    ),
    case(
        "softplus_by_hand",
        """
        import torch
        x = torch.tensor([1.0, 200.0], requires_grad=True)
        y = torch.log(1 + torch.exp(x))  # CULPRIT
        y.sum().backward()
        """,
        "nan-exp-overflow",
    ),
    case(
        "variance_from_a_wild_log_variance",
        """
        import torch
        mu = torch.zeros(2, requires_grad=True)
        logvar = torch.tensor([100.0, 0.0], requires_grad=True)
        std = (0.5 * logvar * 4).exp()  # CULPRIT
        z = mu + std * torch.tensor([0.0, 1.0])
        z.sum().backward()
        """,
        "nan-exp-overflow",
    ),
    case(
        "sigmoid_by_hand",
        """
        import torch
        x = torch.tensor([-200.0, 1.0], requires_grad=True)
        y = 1 / (1 + torch.exp(-x))  # CULPRIT
        y.sum().backward()
        """,
        "nan-exp-overflow",
    ),
]
