"""GV115: custom-fn-view-output-inplace."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "half_from_a_function",
        """
        import torch

        class FirstHalf(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x[:2]  # CULPRIT

            @staticmethod
            def backward(ctx, g):
                return torch.cat([g, torch.zeros_like(g)])

        x = torch.ones(4, requires_grad=True)
        y = FirstHalf.apply(x * 1)
        y.mul_(2)
        y.sum().backward()
        """,
        "custom-fn-view-output-inplace",
        says=["FirstHalf", "return x[:2]"],
        related=["written here"],
    ),
    case(
        "gradient_reversal_then_relu",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F

        class Reverse(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, alpha):
                ctx.alpha = alpha
                return x.view_as(x)  # CULPRIT

            @staticmethod
            def backward(ctx, g):
                return -ctx.alpha * g, None

        class Domain(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(3, 3)

            def forward(self, x):
                x = Reverse.apply(self.lin(x), 0.5)
                return F.relu(x, inplace=True)

        Domain()(torch.randn(2, 3)).sum().backward()
        """,
        "custom-fn-view-output-inplace",
    ),
    case(
        "transpose_of_a_function",
        """
        import torch

        class Flip(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, swap):
                if not swap:
                    return x * 1
                return x.t()  # CULPRIT

            @staticmethod
            def backward(ctx, g):
                return g.t(), None

        w = torch.ones(2, 3, requires_grad=True)
        y = Flip.apply(w + 0, True)
        y += 1
        """,
        "custom-fn-view-output-inplace",
    ),
]
