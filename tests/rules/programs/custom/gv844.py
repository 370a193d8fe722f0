"""GV844: custom-fn-not-on-ctx."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "apply_of_an_instance",
        """
        import torch
        class GradReverse(torch.autograd.Function):
            def __init__(self, weight):
                self.weight = weight
            @staticmethod
            def forward(ctx, x):
                return x.view_as(x)
            @staticmethod
            def backward(ctx, grad):
                return -ctx.weight * grad
        w = torch.ones(3, requires_grad=True)
        y = GradReverse(0.5).apply(w * 2)  # CULPRIT
        y.sum().backward()
        """,
        "custom-fn-not-on-ctx",
        says=["`GradReverse.apply(w * 2, 0.5)`", "Then `__init__` can go"],
    ),
    case(
        "instance_kept_by_a_module",
        """
        import torch
        from torch import nn
        class Scale(torch.autograd.Function):
            def __init__(self, factor):
                self.factor = factor
            @staticmethod
            def forward(ctx, x):
                return x * ctx.factor
            @staticmethod
            def backward(ctx, grad):
                return grad * ctx.factor
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = Scale(2.0)
                self.fc = nn.Linear(3, 1)
            def forward(self, x):
                return self.scale.apply(self.fc(x))  # CULPRIT
        Net()(torch.ones(2, 3)).sum().backward()
        """,
        "custom-fn-not-on-ctx",
        says=["`Scale.apply(self.fc(x), self.scale.factor)`"],
    ),
    case(
        "forward_forgets_its_number",
        """
        import torch
        class GradReverse(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, weight):
                return x.view_as(x)  # CULPRIT
            @staticmethod
            def backward(ctx, grad):
                return -ctx.weight * grad, None
        w = torch.ones(3, requires_grad=True)
        GradReverse.apply(w * 2, 0.5).sum().backward()
        """,
        "custom-fn-not-on-ctx",
        says=["Write `ctx.weight = weight` before this line."],
    ),
    case(
        "another_spelling_in_backward",
        """
        import torch
        class GradReverse(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, weight):
                ctx.weigth = weight
                return x.view_as(x)
            @staticmethod
            def backward(ctx, grad):
                return -ctx.weight * grad, None  # CULPRIT
        w = torch.ones(3, requires_grad=True)
        GradReverse.apply(w * 2, 0.5).sum().backward()
        """,
        "custom-fn-not-on-ctx",
        says=["sets `weigth`, and no `weight`"],
    ),
    case(
        "nothing_was_saved",
        """
        import torch
        class Clip(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.clamp(-1, 1)
            @staticmethod
            def backward(ctx, grad):
                x, = ctx.saved_tensors  # CULPRIT
                return grad * (x.abs() < 1)
        Clip.apply(torch.ones(3, requires_grad=True)).sum().backward()
        """,
        "custom-fn-not-on-ctx",
        says=["saves none"],
    ),
]
