"""GV841: custom-fn-zero-gradient."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "mask_that_never_fits",
        """
        import torch
        class Quant(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, s):
                ctx.save_for_backward(x)
                return torch.round(x / s) * s
            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return g * (x.abs() < 0).float(), None  # CULPRIT
        lin = torch.nn.Linear(3, 3)
        opt = torch.optim.SGD(lin.parameters(), 0.1)
        for _ in range(3):
            loss = Quant.apply(lin(torch.randn(4, 3)), 0.1).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(lin.weight.grad)
        """,
        "custom-fn-zero-gradient",
    ),
    case(
        "derivative_of_a_sign",
        """
        import torch
        class Binary(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return torch.sign(x)
            @staticmethod
            def backward(ctx, g):
                return torch.zeros_like(g)  # CULPRIT
        lin = torch.nn.Linear(3, 3)
        loss = Binary.apply(lin(torch.randn(4, 3))).pow(2).sum() + 1
        (loss + Binary.apply(lin(torch.ones(1, 3))).sum()).backward()
        """,
        "custom-fn-zero-gradient",
    ),
    case(
        "gradients_put_into_a_copy",
        """
        import torch
        class Sign(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x.sign()
            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                result = torch.zeros_like(g)
                inside = x.abs() <= 1
                result[inside].copy_(g[inside])  # CULPRIT
                return result
        lin = torch.nn.Linear(3, 3)
        opt = torch.optim.SGD(lin.parameters(), 0.1)
        for _ in range(3):
            loss = Sign.apply(lin(torch.randn(4, 3))).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "custom-fn-zero-gradient",
        says=["writes into a copy", "`result[inside] = …`"],
    ),
]
