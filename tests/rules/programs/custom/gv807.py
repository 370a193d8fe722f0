"""GV807: custom-fn-once-differentiable."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "penalty_through_once_differentiable",
        """
        import torch
        from torch.autograd.function import once_differentiable
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x
            @staticmethod
            @once_differentiable  # CULPRIT
            def backward(ctx, g):
                x, = ctx.saved_tensors
                return 2 * x * g
        x = torch.ones(3, requires_grad=True)
        out = Square.apply(x).exp().sum()
        grad, = torch.autograd.grad(out, x, create_graph=True)
        (grad.norm() - 1).pow(2).backward()
        """,
        "custom-fn-once-differentiable",
        related=["first derivative"],
    ),
    case(
        "penalty_before_the_generator_has_had_its_turn",
        """
        import torch
        from torch import nn
        from torch.autograd.function import once_differentiable

        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            @once_differentiable  # CULPRIT
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return 2 * x * g

        generator, critic = nn.Linear(3, 2), nn.Linear(2, 1)
        g_opt = torch.optim.SGD(generator.parameters(), lr=0.1)
        c_opt = torch.optim.SGD(critic.parameters(), lr=0.1)
        for _ in range(2):
            with torch.no_grad():
                fake = generator(torch.randn(4, 3))
            between = fake.clone().requires_grad_()
            score = critic(Square.apply(between)).sum()
            (grad,) = torch.autograd.grad(score, between, create_graph=True)
            c_opt.zero_grad()
            (critic(fake).mean() + grad.square().sum()).backward()
            c_opt.step()
            g_opt.zero_grad()
            (-critic(generator(torch.randn(4, 3))).mean()).backward()
            g_opt.step()
        """,
        "custom-fn-once-differentiable",
    ),
]
