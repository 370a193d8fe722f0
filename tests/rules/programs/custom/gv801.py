"""GV801: custom-fn-wrong-number-of-grads."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "one_gradient_for_two_inputs",
        """
        import torch
        from torch.autograd import Function
        class Scale(Function):
            @staticmethod
            def forward(ctx, x, factor):
                ctx.factor = factor
                return x * factor
            @staticmethod
            def backward(ctx, g):
                scaled = g * ctx.factor
                return scaled  # CULPRIT
        y = Scale.apply(torch.ones(2, requires_grad=True), 3.0)
        y.sum().backward()
        """,
        "custom-fn-wrong-number-of-grads",
        says=["2 inputs (x, factor)", "1 gradient"],
    ),
    case(
        "too_many_gradients",
        """
        import torch
        class Add(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a, b):
                return a + b
            @staticmethod
            def backward(ctx, g):
                if g is None:
                    return None, None
                return g, g, g  # CULPRIT
        a = torch.ones(2, requires_grad=True)
        Add.apply(a, torch.ones(2)).sum().backward()
        """,
        "custom-fn-wrong-number-of-grads",
    ),
    case(
        "backward_that_ends_without_a_return",
        """
        import torch

        class Times(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, w):
                ctx.save_for_backward(x, w)
                return x * w

            @staticmethod
            def backward(ctx, grad):
                x, w = ctx.saved_tensors
                grad_x = grad * w
                grad_w = grad * x  # CULPRIT

        x, w = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
        Times.apply(x, w).sum().backward()
        """,
        "custom-fn-wrong-number-of-grads",
        says=["ends without a return"],
    ),
    case(
        "the_gradient_of_one_of_two_parameters",
        """
        import torch

        class Line(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, slope, offset):
                ctx.save_for_backward(x)
                return x * slope + offset

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                return None, (grad * x).sum()  # CULPRIT

        slope = torch.ones((), requires_grad=True)
        offset = torch.zeros((), requires_grad=True)
        Line.apply(torch.arange(3.0), slope, offset).sum().backward()
        """,
        "custom-fn-wrong-number-of-grads",
        says=["Return 3 values"],
    ),
]
