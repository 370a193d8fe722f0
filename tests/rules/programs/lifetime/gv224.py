"""GV224: update-not-kept."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "rebound_loop_variable",
        """
        import torch
        import torch.nn as nn
        model = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 1))
        def sgd(rate):
            with torch.no_grad():
                for p in model.parameters():
                    p = p - rate * p.grad  # CULPRIT
        for _ in range(3):
            loss = model(torch.randn(4, 3)).square().mean()
            model.zero_grad()
            loss.backward()
            sgd(0.1)
        """,
        "update-not-kept",
        says=["`p -= rate * p.grad`"],
    ),
    case(
        "rebound_argument_of_a_helper",
        """
        import torch
        w = torch.ones(3, requires_grad=True)
        def descend(weight, grad):
            weight = weight - 0.1 * grad  # CULPRIT
        for _ in range(3):
            loss = (w * 2).square().sum()
            (g,) = torch.autograd.grad(loss, w)
            with torch.no_grad():
                descend(w, g)
        """,
        "update-not-kept",
    ),
    case(
        "target_network_rebound",
        """
        import copy
        import torch
        import torch.nn as nn
        online = nn.Linear(3, 2)
        target = copy.deepcopy(online).requires_grad_(False)
        opt = torch.optim.Adam(online.parameters())
        for _ in range(3):
            x = torch.randn(5, 3)
            loss = (online(x) - target(x)).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            with torch.no_grad():
                for old, new in zip(target.parameters(), online.parameters()):
                    old = 0.9 * old + 0.1 * new  # CULPRIT
        """,
        "update-not-kept",
        says=["`old.copy_(0.9 * old + 0.1 * new)`"],
    ),
]
