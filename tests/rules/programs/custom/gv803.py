"""GV803: custom-fn-none-gradient."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "gradient_of_the_weight_forgotten",
        """
        import torch
        import torch.nn as nn
        class Mul(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, w):
                ctx.save_for_backward(x, w)
                return x * w
            @staticmethod
            def backward(ctx, g):
                x, w = ctx.saved_tensors
                return g * w, None  # CULPRIT
        class Gate(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.ones(3))
            def forward(self, x):
                return Mul.apply(x, self.w)
        net = nn.Sequential(nn.Linear(2, 3), Gate())
        net(torch.ones(1, 2)).sum().backward()
        """,
        "custom-fn-none-gradient",
        says=["input 1"],
    ),
]
