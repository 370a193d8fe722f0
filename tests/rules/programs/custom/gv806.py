"""GV806: custom-fn-wrong-formula."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "wrong_power",
        """
        import torch
        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x ** 3
            @staticmethod
            def backward(ctx, g):
                x, = ctx.saved_tensors
                return 2 * x ** 2 * g  # CULPRIT
        x = torch.tensor([2.0, 3.0], requires_grad=True)
        Cube.apply(x).sum().backward()
        """,
        "custom-fn-wrong-formula",
        says=["0.6667"],
    ),
    case(
        "wrong_sign_in_a_helper_line",
        """
        import torch
        class Sub(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a, b):
                return a - b
            @staticmethod
            def backward(ctx, g):
                ga = g
                gb = g  # CULPRIT
                return ga, gb
        a = torch.ones(2, requires_grad=True)
        b = torch.ones(2, requires_grad=True)
        Sub.apply(a, b).pow(2).sum().backward()
        """,
        "custom-fn-wrong-formula",
    ),
    case(
        "wrong_formula_found_by_gradcheck",
        """
        import torch
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x
            @staticmethod
            def backward(ctx, g):
                x, = ctx.saved_tensors
                return x * g  # CULPRIT
        x = torch.tensor([2.0], dtype=torch.float64, requires_grad=True)
        torch.autograd.gradcheck(Square.apply, (x,))
        """,
        "custom-fn-wrong-formula",
    ),
]
