"""GV314: gradient-penalty-no-create-graph."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "penalty_on_the_grad_attribute",
        """
        import torch
        w = torch.tensor([3.0], requires_grad=True)
        x = torch.tensor([2.0], requires_grad=True)
        out = (w * x * x).sum()
        out.backward(retain_graph=True)  # CULPRIT
        pen = (x.grad.norm() - 1) ** 2
        loss = out + pen
        loss.backward()
        """,
        "gradient-penalty-no-create-graph",
    ),
    case(
        "derivative_by_backward_beside_its_function",
        """
        import torch
        from torch import nn
        u = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
        opt = torch.optim.SGD(u.parameters(), lr=0.1)
        for _ in range(2):
            x = torch.rand(10, 1, requires_grad=True)
            y = u(x)
            y.sum().backward(retain_graph=True)  # CULPRIT
            loss = (x.grad + y).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "gradient-penalty-no-create-graph",
    ),
    case(
        "penalty_without_create_graph",
        """
        import torch
        from torch import nn

        critic = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
        opt = torch.optim.Adam(critic.parameters())

        def gradient_penalty(real, fake):
            mix = torch.rand(real.shape[0], 1)
            x = (mix * real + (1 - mix) * fake).requires_grad_(True)
            score = critic(x)
            grads = torch.autograd.grad(  # CULPRIT
                score.sum(), x, retain_graph=True
            )[0]
            return ((grads.norm(2, dim=1) - 1) ** 2).mean()

        for step in range(2):
            real, fake = torch.randn(4, 3), torch.randn(4, 3)
            loss = critic(fake).mean() - critic(real).mean()
            loss = loss + 10 * gradient_penalty(real, fake)
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "gradient-penalty-no-create-graph",
        related=["a constant term"],
    ),
    case(
        "second_derivative_of_a_plain_gradient",
        """
        import torch
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = (x ** 3).sum()
        (g,) = torch.autograd.grad(y, x)  # CULPRIT
        (h,) = torch.autograd.grad(g.sum(), x)
        """,
        "gradient-penalty-no-create-graph",
        says=["finds nothing to differentiate"],
    ),
    case(
        "jacobian_in_a_penalty",
        """
        import torch
        import torch.nn as nn
        encoder, decoder = nn.Linear(4, 3), nn.Linear(3, 4)
        for _ in range(2):
            x = torch.randn(1, 4)
            slopes = torch.autograd.functional.jacobian(encoder, x)  # CULPRIT
            loss = (decoder(encoder(x)) - x).pow(2).mean() + slopes.pow(2).sum()
            loss.backward()
        """,
        "gradient-penalty-no-create-graph",
    ),
    case(
        "second_derivative_of_a_constant",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
        x = torch.rand(5, 1, requires_grad=True)
        u = net(x)
        u_x = torch.autograd.grad(u.sum(), x, retain_graph=True)[0]  # CULPRIT
        u_xx = torch.autograd.grad(u_x.sum(), x, create_graph=True)[0]
        (u_xx + u).pow(2).mean().backward()
        """,
        "gradient-penalty-no-create-graph",
    ),
    case(
        "second_derivative_of_the_constant_itself",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
        x = torch.rand(5, 1, requires_grad=True)
        u = net(x)
        one = torch.ones_like(u)
        u_x = torch.autograd.grad(u, x, one, retain_graph=True)[0]  # CULPRIT
        u_xx = torch.autograd.grad(u_x, x, one, create_graph=True)[0]
        (u_xx + u).pow(2).mean().backward()
        """,
        "gradient-penalty-no-create-graph",
    ),
    case(
        "learned_loss_with_a_constant_step",
        """
        import torch
        import torch.nn as nn
        judge = nn.Sequential(nn.Linear(2, 6), nn.Softplus(), nn.Linear(6, 1))
        weight = nn.Parameter(torch.zeros(3, 1))
        opt = torch.optim.Adam([weight, *judge.parameters()], 1e-2)
        for _ in range(2):
            x, y = torch.randn(8, 3), torch.randn(8, 1)
            inner = judge(torch.cat([x @ weight, y], dim=1)).mean()
            (step,) = torch.autograd.grad(inner, [weight])  # CULPRIT
            outer = (x @ (weight - 0.1 * step) - y).pow(2).mean()
            opt.zero_grad()
            outer.backward()
            opt.step()
        """,
        "gradient-penalty-no-create-graph",
        says=["`judge` (4 parameters)", "create_graph=True"],
    ),
    case(
        "residual_of_an_equation_is_half_constant",
        """
        import torch
        import torch.nn as nn
        u = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
        opt = torch.optim.Adam(u.parameters(), lr=1e-3)
        t = torch.linspace(0, 1, 5).reshape(-1, 1).requires_grad_()
        for step in range(2):
            y = u(t)
            dy = torch.autograd.grad(y.sum(), t, retain_graph=True)[0]  # CULPRIT
            loss = (dy + y).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "gradient-penalty-no-create-graph",
    ),
]
