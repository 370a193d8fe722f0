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
    case(
        "gate_written_in_place_and_scaled_again",
        """
        import torch
        from torch import nn

        class Gate(torch.autograd.Function):
            @staticmethod
            def forward(ctx, h, keep):
                ctx.save_for_backward(keep)
                h.mul_(keep)  # CULPRIT
                return h

            @staticmethod
            def backward(ctx, g):
                (keep,) = ctx.saved_tensors
                return g * keep, None

        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 4)

            def forward(self, x):
                h = Gate.apply(self.fc(x), torch.tensor([1.0, 0.0, 1.0, 0.5]))
                h += 1
                return h

        Block()(torch.randn(5, 3)).pow(2).mean().backward()
        """,
        "custom-fn-missing-mark-dirty",
        says=["`h += 1`", "`ctx.mark_dirty(h)`"],
        related=["refused here"],
    ),
    case(
        "noise_added_in_place_then_clamped",
        """
        import torch

        class Jitter(torch.autograd.Function):
            @staticmethod
            def forward(ctx, values):
                noise = torch.full_like(values, 0.1)
                values += noise  # CULPRIT
                return values

            @staticmethod
            def backward(ctx, grad):
                return grad

        w = torch.randn(6, requires_grad=True)
        for step in range(2):
            seen = Jitter.apply(w * 2)
            seen.clamp_(min=0)
            seen.sum().backward()
        """,
        "custom-fn-missing-mark-dirty",
        says=["`seen.clamp_(min=0)`"],
    ),
]
