"""Derivatives that are taken more than once, each another one or elsewhere."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "columns_of_a_jacobian_and_two_helpers",
        """
        import torch

        torch.manual_seed(0)
        net = torch.nn.Sequential(
            torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2)
        )
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
        x = torch.rand(32, 2, requires_grad=True)

        def divergence(u):
            first = torch.zeros_like(u)
            first[:, 0] = 1
            second = torch.zeros_like(u)
            second[:, 1] = 1
            left = torch.autograd.grad(u, x, first, create_graph=True)[0]
            right = torch.autograd.grad(u, x, second, create_graph=True)[0]
            return left[:, 0] + right[:, 1]

        def slope(u):
            return torch.autograd.grad(u.sum(), x, create_graph=True)[0]

        def bound(u):
            return torch.autograd.grad(u.sum(), x, create_graph=True)[0]

        for _ in range(6):
            u = net(x)
            loss = divergence(u).pow(2).mean() + slope(u).pow(2).mean()
            loss = loss + 0.1 * bound(u).abs().mean() + (u - x).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ),
    case(
        "second_derivatives_by_transforms",
        """
        import torch
        from torch import nn
        from torch.func import functional_call, grad, vmap
        net = nn.Sequential(nn.Linear(1, 4), nn.LeakyReLU(), nn.Linear(4, 1))
        parameters = dict(net.named_parameters())
        def squared(x):
            return functional_call(net, parameters, (x.reshape(1),)).square().sum()
        def bent(x):
            return functional_call(net, parameters, (x.reshape(1) ** 3,)).sum()
        def scaled(scale, x):
            return grad(lambda at: squared(at * scale))(x)
        x = torch.rand(5)
        curves = vmap(grad(grad(squared)))(x) + vmap(grad(grad(bent)))(x)
        mixed = vmap(grad(scaled), (None, 0))(torch.tensor(2.0), x)
        (curves + mixed).square().mean().backward()
        """,
    ),
    case(
        "axes_of_a_laplacian_and_of_one_gradient_in_turn",
        """
        import torch
        net = torch.nn.Sequential(
            torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)
        )
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01)

        def gradient(of, by):
            return torch.autograd.grad(of.sum(), by, create_graph=True)[0]

        for _ in range(3):
            x = torch.rand(6, 2, requires_grad=True)
            first = gradient(net(x), x)
            second = [gradient(first[:, i], x)[:, i] for i in (0, 1)]
            slopes = [gradient(net(x), x)[:, i] for i in (0, 1)]
            bent = [gradient(net(x), x)[:, 0] * scale for scale in (0.5, 2.0)]
            bent[0] = bent[0] - bent[1].square()
            loss = (sum(second) + sum(slopes) + bent[0]).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ),
]
