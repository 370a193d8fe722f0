"""GV672: second-derivatives-mixed."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "laplacian_of_a_whole_gradient",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
        opt = torch.optim.Adam(net.parameters())
        for step in range(3):
            x = torch.rand(12, 2, requires_grad=True)
            u = net(x)
            g = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
            ones = torch.ones_like(g)
            h = torch.autograd.grad(g, x, ones, create_graph=True)[0]  # CULPRIT
            loss = (h[:, 0] + h[:, 1] - 1).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "second-derivatives-mixed",
        says=["`g`", "2 columns", "`h = torch.stack([torch.autograd.grad(g[:, i], x"],
    ),
    case(
        "curvature_along_one_coordinate",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
        opt = torch.optim.Adam(net.parameters())
        for step in range(3):
            x = torch.rand(12, 2, requires_grad=True)
            u = net(x)
            g = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
            ones = torch.ones_like(g)
            h, = torch.autograd.grad(g, x, ones, create_graph=True)  # CULPRIT
            loss = (g[:, 1] - h[:, 0:1].squeeze(1)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "second-derivatives-mixed",
        says=["that column alone: `torch.autograd.grad(g[:, 0], x, torch.ones_like(g["],
    ),
    case(
        "laplacian_by_the_sum_of_a_gradient",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
        opt = torch.optim.Adam(net.parameters())
        for step in range(3):
            x = torch.rand(12, 3, requires_grad=True)
            (g,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
            (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)  # CULPRIT
            loss = (h.sum(dim=1) - 1).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "second-derivatives-mixed",
    ),
    case(
        "helper_that_gives_either_derivative",
        """
        import torch
        from torch import nn
        net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))

        def gradient(out, by):
            ones = torch.ones_like(out)
            return torch.autograd.grad(out, by, ones, create_graph=True)[0]

        def laplacian(x):
            first = gradient(net(x), x)
            return gradient(first, x).sum(dim=1, keepdim=True)  # CULPRIT

        x = torch.randn(6, 2, requires_grad=True)
        laplacian(x).square().mean().backward()
        """,
        "second-derivatives-mixed",
    ),
]
