"""GV804: custom-fn-missing-mark-dirty."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "input_changed_without_mark_dirty",
        """
        import torch
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                x.mul_(2)  # CULPRIT
                return x
            @staticmethod
            def backward(ctx, g):
                return 2 * g
        w = torch.ones(3, requires_grad=True)
        y = Double.apply(w * 1)
        y.sum().backward()
        """,
        "custom-fn-missing-mark-dirty",
        says=["Double.forward"],
    ),
    case(
        "input_clamped_in_place",
        """
        import torch
        class Clip(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mask = x > 0
                x[x < 0] = 0  # CULPRIT
                return x.clone()
            @staticmethod
            def backward(ctx, g):
                return g * ctx.mask
        w = torch.tensor([-1.0, 2.0], requires_grad=True)
        Clip.apply(w * 3).sum().backward()
        """,
        "custom-fn-missing-mark-dirty",
        says=["and return `x`"],
    ),
]
