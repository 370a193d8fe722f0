"""GV637: same-derivative-twice."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "a_second_derivative_that_is_the_first",
        """
        import torch

        torch.manual_seed(0)
        net = torch.nn.Sequential(
            torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)
        )
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
        x = torch.rand(32, 1, requires_grad=True)
        t = torch.rand(32, 1, requires_grad=True)

        def grad(of, by):
            ones = torch.ones_like(of)
            return torch.autograd.grad(of, by, ones, create_graph=True)[0]

        for _ in range(6):
            u = net(torch.cat([x, t], 1))
            u_x = grad(u, x)
            u_t = grad(u, t)
            u_xx = grad(u, x)  # CULPRIT
            residual = (u_t - 0.1 * u_xx).pow(2).mean()
            start = (net(torch.cat([x, 0 * t], 1)) - torch.sin(x)).pow(2).mean()
            optimizer.zero_grad()
            (residual + start).backward()
            optimizer.step()
        """,
        "same-derivative-twice",
        says=["`u_xx` has the same numbers as `u_x`"],
        related=["taken here"],
    ),
]
