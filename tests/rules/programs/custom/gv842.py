"""GV842: custom-fn-refused."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "gradient_of_the_exponent",
        """
        import torch
        class Power(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, exponent):
                ctx.save_for_backward(x)
                ctx.exponent = exponent
                return x ** exponent
            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                slope = ctx.exponent * x ** (ctx.exponent - 1)
                return None, grad * slope  # CULPRIT
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        Power.apply(w, 3).sum().backward()
        """,
        "custom-fn-refused",
        says=["different than None"],
    ),
    case(
        "number_saved_for_backward",
        """
        import torch
        class Leaky(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, slope):
                ctx.save_for_backward(x, slope)  # CULPRIT
                return torch.where(x > 0, x, slope * x)
            @staticmethod
            def backward(ctx, grad):
                return grad, None
        Leaky.apply(torch.randn(4, requires_grad=True), 0.1)
        """,
        "custom-fn-refused",
        says=["`ctx.slope = slope`"],
    ),
    case(
        "forward_without_ctx",
        """
        import torch
        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(x):  # CULPRIT
                return x * 2
            @staticmethod
            def backward(ctx, grad):
                return grad * 2
        Twice.apply(torch.ones(3, requires_grad=True))
        """,
        "custom-fn-refused",
        says=["Write `ctx` first"],
    ),
    case(
        "backward_of_two_gradients_for_one_output",
        """
        import torch
        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2
            @staticmethod
            def backward(ctx, grad, other):  # CULPRIT
                return grad * 2
        Twice.apply(torch.ones(3, requires_grad=True)).sum().backward()
        """,
        "custom-fn-refused",
    ),
]
