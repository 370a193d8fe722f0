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
]
