"""GV802: custom-fn-wrong-shape."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "reduction_not_undone",
        """
        import torch
        class Total(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x.sum(0)
            @staticmethod
            def backward(ctx, g):
                return g  # CULPRIT
        x = torch.ones(4, 3, requires_grad=True)
        Total.apply(x).sum().backward()
        """,
        "custom-fn-wrong-shape",
        says=["Undo the reduction"],
    ),
    case(
        "gradients_swapped",
        """
        import torch
        class Linear(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, w):
                ctx.save_for_backward(x, w)
                return x @ w
            @staticmethod
            def backward(ctx, g):
                x, w = ctx.saved_tensors
                return x.T @ g, g @ w.T  # CULPRIT
        x = torch.ones(4, 3, requires_grad=True)
        w = torch.ones(3, 2, requires_grad=True)
        Linear.apply(x, w).sum().backward()
        """,
        "custom-fn-wrong-shape",
        says=["input 0", "[4, 3]", "in the order of the inputs"],
    ),
    case(
        "gradient_with_a_name_in_a_wrong_shape",
        """
        import torch

        class Halves(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x[:, 0] * 2

            @staticmethod
            def backward(ctx, grad):
                grad_x = torch.cat((grad * 2, grad * 0), 0)  # CULPRIT
                return grad_x

        x = torch.ones(4, 2, requires_grad=True)
        Halves.apply(x).sum().backward()
        """,
        "custom-fn-wrong-shape",
    ),
    case(
        "gradient_of_the_rows_that_were_taken",
        """
        import torch

        class Take(torch.autograd.Function):
            @staticmethod
            def forward(ctx, table, rows):
                return 2 * table[rows]

            @staticmethod
            def backward(ctx, grad):
                doubled = 2 * grad
                return doubled, None  # CULPRIT

        table = torch.ones(3, 2, requires_grad=True)
        Take.apply(table, torch.tensor([0, 2, 2, 1])).sum().backward()
        """,
        "custom-fn-wrong-shape",
        says=["index_add(0, index, gradient)"],
    ),
]
