"""GV845: custom-fn-saves-intermediate."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "sigmoid_saved_for_a_slope_in_the_loss",
        """
        import torch
        class Swish(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                sig = torch.sigmoid(x)
                ctx.save_for_backward(x, sig)  # CULPRIT
                return x * sig
            @staticmethod
            def backward(ctx, grad):
                x, sig = ctx.saved_tensors
                return grad * (sig + x * sig * (1 - sig))
        torch.manual_seed(0)
        layer = torch.nn.Linear(1, 4)
        t = torch.randn(6, 1, requires_grad=True)
        u = Swish.apply(layer(t)).sum(1)
        (du,) = torch.autograd.grad(u.sum(), t, create_graph=True)
        loss = (u - 1).pow(2).mean() + (du - 2).pow(2).mean()
        loss.backward()
        """,
        "custom-fn-saves-intermediate",
        says=["`sig = torch.sigmoid(x)`"],
        related=["computed without a graph here", "used in backward here"],
    ),
    case(
        "norm_kept_on_ctx",
        """
        import torch
        class Unit(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                norm = x.pow(2).sum(1, keepdim=True).sqrt()
                ctx.norm = norm  # CULPRIT
                ctx.save_for_backward(x)
                return x / norm
            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                inner = (grad * x).sum(1, keepdim=True)
                return grad / ctx.norm - x * inner / ctx.norm ** 3
        torch.manual_seed(0)
        layer, head = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
        x = torch.randn(6, 3, requires_grad=True)
        score = head(Unit.apply(layer(x)))
        (slope,) = torch.autograd.grad(score.sum(), x, create_graph=True)
        (slope.pow(2).sum(1).sqrt() - 1).pow(2).mean().backward()
        """,
        "custom-fn-saves-intermediate",
    ),
]
