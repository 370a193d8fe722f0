"""GV320: number-of-a-tensor."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "sine_of_python",
        """
        import math
        import torch
        angle = torch.tensor(0.3, requires_grad=True)
        speed = torch.tensor(0.0)
        for step in range(3):
            speed = speed - 0.1 * torch.ones(()) * math.sin(angle)  # CULPRIT
            angle_now = angle + 0.1 * speed
        (angle_now - 1).square().backward()
        """,
        "number-of-a-tensor",
        says=["`math.sin(angle)`", "`torch.sin`"],
    ),
    case(
        "cosine_of_python_given_a_name",
        """
        import math
        import torch
        w = torch.ones(2, requires_grad=True)
        total = w.sum()
        factor = math.cos(total)  # CULPRIT
        loss = (w * factor).square().sum() + total
        loss.backward()
        """,
        "number-of-a-tensor",
    ),
    case(
        "exponential_of_python_in_a_method",
        """
        import math
        import torch
        from torch import nn

        class Weighed(nn.Module):
            def __init__(self):
                super().__init__()
                self.s = nn.Parameter(torch.zeros(2))

            def precision(self, i):
                return math.exp(-self.s[i])  # CULPRIT

            def forward(self, losses):
                return sum(self.precision(i) * l + self.s[i] for i, l in losses)

        net, weighed = nn.Linear(2, 2), Weighed()
        made = net(torch.ones(3, 2)).square().mean(0)
        weighed([*enumerate(made)]).backward()
        """,
        "number-of-a-tensor",
    ),
    case(
        "number_of_a_parameter_that_is_shown_too",
        """
        import math
        import torch
        from torch import nn

        class Grid(nn.Module):
            def __init__(self):
                super().__init__()
                self.rate = nn.Parameter(torch.zeros(()))
                self.log_depth = nn.Parameter(torch.ones(()))

            def forward(self):
                end = math.exp(self.log_depth)  # CULPRIT
                return torch.exp(-self.rate * torch.linspace(0.0, end, 8))

        model = Grid()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        for _ in range(3):
            loss = (model() - 0.5).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(model.log_depth.exp().item())
        """,
        "number-of-a-tensor",
        says=["`math.exp(self.log_depth)`"],
    ),
]
