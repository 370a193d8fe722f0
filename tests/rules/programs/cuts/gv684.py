"""GV684: derivative-of-a-mean."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "derivative_of_a_mean_in_an_equation",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
        opt = torch.optim.Adam(net.parameters())
        t = torch.linspace(0, 2, 20).unsqueeze(1).requires_grad_()
        def derivative(y, x):
            (found,) = torch.autograd.grad(y.mean(), x, create_graph=True)  # CULPRIT
            return found
        for _ in range(3):
            u = net(t)
            rest = derivative(derivative(u, t), t) + 4 * u
            opt.zero_grad()
            rest.square().mean().backward()
            opt.step()
        """,
        "derivative-of-a-mean",
        says=["1/20", "`y.sum()`, not the mean"],
    ),
    case(
        "derivative_of_a_sum_and_of_a_mean_by_weights",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Linear(4, 1)
        opt = torch.optim.Adam(net.parameters())
        for _ in range(3):
            x = torch.randn(4, 4, requires_grad=True)
            loss = net(x).square().mean()
            (slope,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
            weights = [*net.parameters()]
            inner = torch.autograd.grad(loss, weights, create_graph=True)
            fast = [w - 0.1 * g for w, g in zip(weights, inner)]
            again = nn.functional.linear(x.detach(), *fast).square().mean()
            (back,) = torch.autograd.grad(again, fast[:1], create_graph=True)
            opt.zero_grad()
            (loss + slope.square().sum(1).mean() + back.square().sum()).backward()
            opt.step()
        """,
    ),
]
