"""GV805: custom-fn-tensor-on-ctx."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "output_kept_on_ctx_and_changed",
        """
        import torch
        class Exp(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                result = x.exp()
                ctx.result = result  # CULPRIT
                return result
            @staticmethod
            def backward(ctx, g):
                return g * ctx.result
        x = torch.tensor([1.0], requires_grad=True)
        y = Exp.apply(x)
        with torch.no_grad():
            y += 1
        y.sum().backward()
        """,
        "custom-fn-tensor-on-ctx",
        related=["overwritten here"],
    ),
    case(
        "weight_kept_on_ctx_and_stepped",
        """
        import torch
        class Mul(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, w):
                ctx.x = x
                ctx.w = w  # CULPRIT
                return x * w
            @staticmethod
            def backward(ctx, g):
                return g * ctx.w, g * ctx.x
        x = torch.ones(2, requires_grad=True)
        w = torch.full((2,), 3.0, requires_grad=True)
        opt = torch.optim.SGD([w], lr=1.0)
        y = Mul.apply(x, w)
        w.grad = torch.ones(2)
        opt.step()
        y.sum().backward()
        """,
        "custom-fn-tensor-on-ctx",
    ),
]
