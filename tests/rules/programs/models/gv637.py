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
        related=["differentiated here first"],
    ),
    case(
        "one_axis_of_a_laplacian_twice",
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
            second = [gradient(first[:, 0], x)[:, i] for i in (0, 0)]  # CULPRIT
            optimizer.zero_grad()
            (sum(second) + 1).square().mean().backward()
            optimizer.step()
        """,
        "same-derivative-twice",
    ),
    case(
        "axis_of_a_laplacian_by_a_loop_that_forgets_it",
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
            total = torch.zeros(6)
            for i in range(2):
                total = total + gradient(first[:, 0], x).unbind(1)[0]  # CULPRIT
            optimizer.zero_grad()
            (total + 1).square().mean().backward()
            optimizer.step()
        """,
        "same-derivative-twice",
    ),
    case(
        "order_of_a_derivative_by_a_loop_that_starts_again",
        """
        import torch
        net = torch.nn.Sequential(
            torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)
        )
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01)

        def derivative(of, by, order):
            while order > 0:
                slope = torch.autograd.grad(of.sum(), by, create_graph=True)  # CULPRIT
                order -= 1
            return slope[0]

        for _ in range(3):
            x = torch.rand(6, 1, requires_grad=True)
            bend = derivative(net(x), x, 2)
            optimizer.zero_grad()
            (bend + 1).square().mean().backward()
            optimizer.step()
        """,
        "same-derivative-twice",
        says=["stays a first derivative"],
    ),
    case(
        "derivatives_of_all_orders_of_which_some_are_used",
        """
        import torch
        net = torch.nn.Sequential(
            torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)
        )
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01)

        def derivative(of, by, path):
            for axis in path:
                (slopes,) = torch.autograd.grad(of.sum(), by, create_graph=True)
                of = slopes[:, axis]
            return of

        for _ in range(3):
            x = torch.rand(6, 2, requires_grad=True)
            u = net(x)
            all_of_them = [derivative(u, x, path) for path in ((0,), (0, 0), (1,))]
            optimizer.zero_grad()
            (all_of_them[2] - all_of_them[1]).square().mean().backward()
            optimizer.step()
        """,
    ),
]
