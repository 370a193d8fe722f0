"""GV207: reassigned-leaf."""

from __future__ import annotations

from tests.rules.harness import Case, case
from tests.rules.shared import script

PROGRAMS: list[Case] = [
    case(
        "gradient_descent_out_of_place",
        """
        import torch
        x, y = torch.randn(8, 2), torch.randn(8, 1)
        w = torch.zeros(2, 1, requires_grad=True)
        b = torch.zeros(1, requires_grad=True)
        for epoch in range(3):
            loss = (x @ w + b - y).pow(2).mean()
            loss.backward()
            w = w - 0.1 * w.grad  # CULPRIT
            b = b - 0.1 * b.grad  # CULPRIT
        """,
        "reassigned-leaf",
        says=["`with torch.no_grad(): w -= …`"],
    ),
    case(
        "list_of_parameters_rebuilt",
        """
        import torch
        params = [torch.ones(2, requires_grad=True) for _ in range(2)]
        def loss_of(params):
            return sum((p ** 2).sum() for p in params)
        for step in range(2):
            loss_of(params).backward()
            params = [p - 0.1 * p.grad for p in params]  # CULPRIT
        """,
        "reassigned-leaf",
        says=["each tensor of `params`"],
    ),
    case(
        "attribute_rebuilt",
        """
        import torch
        class Model:
            def __init__(self):
                self.w = torch.randn(3, requires_grad=True)
            def loss(self, x):
                return (self.w * x).sum() ** 2
            def step(self, rate):
                self.w = self.w - rate * self.w.grad  # CULPRIT
        model = Model()
        for i in range(3):
            model.loss(torch.ones(3)).backward()
            model.step(0.1)
        """,
        "reassigned-leaf",
        says=["`self.w`"],
    ),
    case(
        "rebuilt_without_a_graph",
        """
        import torch
        w = torch.tensor([1.0, -1.0], requires_grad=True)
        for step in range(2):
            loss = (w ** 2).sum()
            loss.backward()
            with torch.no_grad():
                w = w - 0.1 * w.grad  # CULPRIT
        """,
        "reassigned-leaf",
    ),
    case(
        "rebound_through_another_name",
        """
        import torch
        w = torch.zeros(3, requires_grad=True)
        lr = 0.1
        for i in range(3):
            loss = ((w - 1) ** 2).sum()
            loss.backward()
            new_w = w - lr * w.grad  # CULPRIT
            w = new_w
        """,
        "reassigned-leaf",
    ),
    case(
        "rebound_and_zeroed",
        """
        import torch
        w = torch.zeros(3, requires_grad=True)
        for i in range(3):
            loss = ((w - 1) ** 2).sum()
            loss.backward()
            w = w - 0.1 * w.grad  # CULPRIT
            w.grad.zero_()
        """,
        "reassigned-leaf",
    ),
    case(
        "update_in_two_lines",
        script("""
adversary = batches[0][0].clone().requires_grad_(True)
for _ in range(3):
    F.mse_loss(net(adversary), batches[0][1]).backward()
    adversary = adversary + 0.1 * adversary.grad.sign()  # CULPRIT
    adversary = adversary.clamp(-1, 1)
"""),
        "reassigned-leaf",
    ),
    case(
        "limit_in_each_step_of_one_of_two_leaves",
        """
        import torch

        class Fit:
            def __init__(self):
                self.pitch = torch.rand(3, requires_grad=True)
                self.gain = torch.ones(3, requires_grad=True)
                self.optimizer = torch.optim.SGD([self.pitch, self.gain], lr=0.1)

            def step(self):
                self.optimizer.zero_grad()
                ((self.gain * self.pitch.sin()).sum() - 1).square().backward()
                self.optimizer.step()
                with torch.no_grad():
                    self.pitch = self.pitch.clamp(0.0, 0.9)  # CULPRIT

        fit = Fit()
        for _ in range(4):
            fit.step()
        """,
        "reassigned-leaf",
        says=["`self.pitch` is not trained after", "still holds the leaf"],
    ),
]
