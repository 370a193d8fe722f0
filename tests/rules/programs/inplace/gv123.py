"""GV123: hook-before-inplace."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
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
        "hook_inplace_act",
        """
        import torch
        import torch.nn as nn
        feats = {}
        conv = nn.Conv2d(1, 1, 1)
        act = nn.ReLU(inplace=True)
        x = conv(torch.ones(1, 1, 2, 2))
        x.register_hook(lambda g: feats.setdefault("g", g))
        y = act(x)  # CULPRIT
        y.sum().backward()
        """,
        "hook-before-inplace",
    ),
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
    case(
        "hook_of_the_old_value",
        """
        import torch
        h = torch.ones(1, requires_grad=True) * 2
        h.register_hook(lambda g: print(g))  # INSTEAD
        h.mul_(10)  # CULPRIT
        h.sum().backward()
        """,
        "hook-before-inplace",
    ),
]
