"""Programs whose hooks write gradients, or were put on a value that was replaced."""

from __future__ import annotations

from tests.rules.harness import Case, case

HOOKS: list[Case] = [
    case(
        "hook_zeroes_a_shared_gradient",
        """
        import torch

        x = torch.ones(2, requires_grad=True)
        a = x * 2
        b = x * 3
        b.register_hook(lambda g: g.mul_(0))  # CULPRIT
        ((a + b) * torch.tensor([1.0, 2.0])).sum().backward()
        print(x.grad)
        """,
        "hook-mutates-grad",
        says=["`b`", "AddBackward0"],
    ),
    case(
        "hook_function_scales_in_place",
        """
        import torch

        def halve(grad):
            size = grad.norm()
            grad *= 0.5  # CULPRIT
            return grad

        w = torch.ones(3, requires_grad=True)
        skip = w.exp()
        branch = w.sin()
        branch.register_hook(halve)
        out = skip + branch
        out.pow(2).sum().backward()
        """,
        "hook-mutates-grad",
    ),
    case(
        "hook_in_a_module_clamps",
        """
        import torch
        import torch.nn as nn

        class Residual(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(2, 2)

            def clip(self, grad):
                grad.clamp_(-0.1, 0.1)  # CULPRIT

            def forward(self, x):
                y = torch.tanh(self.lin(x))
                y.register_hook(self.clip)
                return x + y

        net = nn.Sequential(nn.Linear(2, 2), Residual())
        net(torch.ones(1, 2)).sum().backward()
        """,
        "hook-mutates-grad",
    ),
    case(
        "hook_then_multiply",
        """
        import torch

        x = torch.tensor([1.0], requires_grad=True)
        seen = []
        h = x * 2
        h.register_hook(lambda g: seen.append(g.clone()))
        h.mul_(10)  # CULPRIT
        h.retain_grad()
        (h * 3).sum().backward()
        """,
        "hook-before-inplace",
        says=["`h`", "MulBackward0"],
        related=["hook registered here"],
    ),
    case(
        "activation_hook_before_inplace_relu",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F

        class Cam(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(1, 2, 3)
                self.head = nn.Linear(2, 1)
                self.gradient = None

            def keep(self, grad):
                self.gradient = grad

            def forward(self, x):
                x = self.conv(x)
                x.register_hook(self.keep)
                F.relu(x, inplace=True)  # CULPRIT
                return self.head(x.mean(dim=(2, 3)))

        model = Cam()
        model(torch.randn(1, 1, 5, 5)).sum().backward()
        """,
        "hook-before-inplace",
    ),
    case(
        "hook_then_item_assignment",
        """
        import torch

        x = torch.ones(3, requires_grad=True)
        h = x * 2
        h.register_hook(print)
        h[0] = 0.0  # CULPRIT
        h.sum().backward()
        """,
        "hook-before-inplace",
    ),
    case(
        "hook_removed_after_use",
        """
        import torch

        x = torch.ones(3, requires_grad=True)
        h = x * 2
        grads = []
        handle = h.register_hook(grads.append)
        h.relu_()  # CULPRIT
        h.sum().backward()
        handle.remove()
        """,
        "hook-before-inplace",
    ),
    case(
        "hook_writes_part_of_a_sums_gradient",
        """
        import torch

        w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        left = w * 1.0
        right = w * 2.0

        def block(grad):
            grad[0] = 0.0  # CULPRIT

        left.register_hook(block)
        (left + right).sum().backward()
        """,
        "hook-mutates-grad",
    ),
]
