"""GV111: leaf-inplace."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "leaf_in_loop_of_attack",
        """
        import torch
        delta = torch.zeros(3, requires_grad=True)
        for _ in range(2):
            loss = ((1 + delta) ** 2).sum()
            loss.backward()
            delta += 0.1 * delta.grad.sign()  # CULPRIT
            delta.grad.zero_()
        """,
        "leaf-inplace",
    ),
    case(
        "leaf_fill_in_init",
        """
        import torch
        import torch.nn as nn
        class N(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(2, 2)
                self.lin.weight.normal_(0, 0.02)  # CULPRIT
        N()
        """,
        "leaf-inplace",
    ),
    case(
        "leaf_copy_loaded",
        """
        import torch
        import torch.nn as nn
        src, dst = nn.Linear(2, 2), nn.Linear(2, 2)
        for a, b in zip(dst.parameters(), src.parameters()):
            a.copy_(b)  # CULPRIT
        """,
        "leaf-inplace",
    ),
    case(
        "manual_sgd",
        """
        import torch

        w = torch.tensor([1.0, 2.0], requires_grad=True)
        loss = (w ** 2).sum()
        loss.backward()
        w -= 0.1 * w.grad  # CULPRIT
        """,
        "leaf-inplace",
        says=["`w`", "leaf", "grad mode is on"],
    ),
    case(
        "initialising_a_parameter",
        """
        import torch
        import torch.nn as nn

        class Scale(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.weight = nn.Parameter(torch.empty(n))
                self.reset()

            def reset(self):
                self.weight.fill_(1.0)  # CULPRIT

        Scale(3)
        """,
        "leaf-inplace",
    ),
    case(
        "updating_all_parameters",
        """
        import torch
        import torch.nn as nn

        def train_step(model, x, lr):
            loss = model(x).pow(2).mean()
            loss.backward()
            for p in model.parameters():
                p.add_(p.grad, alpha=-lr)  # CULPRIT
                p.grad = None

        train_step(nn.Linear(2, 1), torch.ones(3, 2), 0.1)
        """,
        "leaf-inplace",
    ),
    case(
        "input_that_requires_grad_through_inplace_relu",
        """
        import torch
        import torch.nn as nn

        net = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(2, 1))
        x = torch.randn(3, 2, requires_grad=True)
        net(x).sum().backward()  # CULPRIT
        """,
        "leaf-inplace",
    ),
    case(
        "adversarial_noise_clamped",
        """
        import torch

        image = torch.rand(1, 3, requires_grad=True)
        for _ in range(2):
            loss = (image - 0.5).pow(2).sum()
            loss.backward()
            image.data += 0.1 * image.grad.sign()
            image.clamp_(0, 1)  # CULPRIT
        """,
        "leaf-inplace",
    ),
]
