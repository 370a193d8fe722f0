"""GV848: custom-fn-writes-gradient."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "binarized_branch_beside_a_skip",
        """
        import torch
        import torch.nn as nn
        class Binarize(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x.sign()
            @staticmethod
            def backward(ctx, grad_output):
                (x,) = ctx.saved_tensors
                grad_input = grad_output
                grad_input[x.abs() > 1] = 0  # CULPRIT
                return grad_input
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv1d(4, 4, 3, padding=1)
            def forward(self, x):
                return x + Binarize.apply(self.conv(x))
        net = nn.Sequential(nn.Conv1d(1, 4, 3, padding=1), Block(), Block())
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.randn(2, 1, 8)).pow(2).mean().backward()
            optimizer.step()
        """,
        "custom-fn-writes-gradient",
        says=["Binarize.backward", "`grad_input = grad_input.clone()`"],
    ),
    case(
        "reversal_in_place_of_a_shared_feature",
        """
        import torch
        class Reverse(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.view_as(x)
            @staticmethod
            def backward(ctx, grad):
                return grad.neg_().mul_(0.5)  # CULPRIT
        w = torch.randn(3, 3, requires_grad=True)
        features = torch.randn(5, 3) @ w
        mixed = features.tanh()
        out = mixed + Reverse.apply(features.cos())
        out.pow(2).sum().backward()
        """,
        "custom-fn-writes-gradient",
    ),
    case(
        "written_copy_of_the_gradient",
        """
        import torch
        class Binarize(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x.sign()
            @staticmethod
            def backward(ctx, grad_output):
                (x,) = ctx.saved_tensors
                grad_input = grad_output.clone()
                grad_input[x.abs() > 1] = 0
                return grad_input
        w = torch.randn(3, 3, requires_grad=True)
        h = torch.randn(5, 3) @ w
        (h + Binarize.apply(h * 2)).pow(2).sum().backward()
        """,
    ),
    case(
        "written_gradient_that_nobody_else_has",
        """
        import torch
        class Gate(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x.clamp(min=0)
            @staticmethod
            def backward(ctx, grad_output):
                (x,) = ctx.saved_tensors
                grad_output[x < 0] = 0
                return grad_output
        w = torch.randn(3, 3, requires_grad=True)
        h = Gate.apply(torch.randn(5, 3) @ w) * 2
        h.pow(2).sum().backward()
        """,
    ),
]
