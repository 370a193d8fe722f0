"""GV122: hook-mutates-grad."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
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
        says=["`b`"],
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
    case(
        "hook_root_gradient",
        """
        import torch
        x = torch.ones(2, requires_grad=True)
        a = x * 2
        b = x * 3
        out = a + b
        b.register_hook(lambda g: g.mul_(0))  # CULPRIT
        a.retain_grad()
        out.backward(torch.ones(2))
        print("OBSERVED", a.grad)
        """,
        "hook-mutates-grad",
    ),
    case(
        "hook_leaf_shared",
        """
        import torch
        w = torch.ones(2, requires_grad=True)
        v = torch.ones(2, requires_grad=True)
        def zero(g):
            g.zero_()  # CULPRIT
        w.register_hook(zero)
        ((w + v) ** 2).sum().backward()
        """,
        "hook-mutates-grad",
    ),
    case(
        "hook_scale_residual_plus_const",
        """
        import torch
        x = torch.ones(2, requires_grad=True)
        h = x * 2
        s = x * 3
        y = (h + 1) + s
        h.register_hook(lambda g: g.mul_(2))  # CULPRIT
        (y ** 2).sum().backward()
        """,
        "hook-mutates-grad",
    ),
    case(
        "hook_subtract",
        """
        import torch
        x = torch.ones(2, requires_grad=True)
        a = x * 2
        a.register_hook(lambda grad: grad.add_(1))  # CULPRIT
        r = x.exp()
        out = torch.add(a, r)
        (out * out).sum().backward()
        """,
        "hook-mutates-grad",
    ),
]
