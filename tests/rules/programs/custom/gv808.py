"""GV808: custom-fn-backward-detaches."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "backward_detaches_its_input",
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
                x = x.detach()  # CULPRIT
                return 2 * x * g
        x = torch.ones(3, requires_grad=True)
        grad, = torch.autograd.grad(Square.apply(x).sum(), x, create_graph=True)
        grad.sum().backward()
        """,
        "custom-fn-backward-detaches",
    ),
    case(
        "backward_under_no_grad",
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
                with torch.no_grad():  # CULPRIT
                    return 3 * x ** 2 * g
        x = torch.ones(2, requires_grad=True)
        grad, = torch.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
        grad.sum().backward()
        """,
        "custom-fn-backward-detaches",
    ),
    case(
        "backward_uses_data",
        """
        import torch
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x
            @staticmethod
            def backward(ctx, g):
                return g * 2 * ctx.saved_tensors[0].data  # CULPRIT
        x = torch.ones(3, requires_grad=True)
        y = Square.apply(x).pow(2).sum()
        grad, = torch.autograd.grad(y, x, create_graph=True)
        loss = y + grad.pow(2).sum()
        loss.backward()
        """,
        "custom-fn-backward-detaches",
    ),
    case(
        "third_derivative_through_a_detached_slope",
        """
        import torch
        class Sine(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return torch.sin(x)
            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return g * torch.cos(x.detach())  # CULPRIT
        head = torch.nn.Linear(1, 1)
        t = torch.rand(6, 1, requires_grad=True)
        (du,) = torch.autograd.grad(head(Sine.apply(t)).sum(), t, create_graph=True)
        (ddu,) = torch.autograd.grad(du.sum(), t, create_graph=True)
        """,
        "custom-fn-backward-detaches",
    ),
]
