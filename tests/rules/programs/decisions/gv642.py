"""GV642: exceptions whose operands are told, and functions that return nothing."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "a_forward_that_returns_nothing",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 2)
            def forward(self, x):
                y = self.fc(x)  # CULPRIT
        net = Net()
        out = net(torch.randn(3, 4))
        loss = F.cross_entropy(out, torch.tensor([0, 1, 0]))
        loss.backward()
        """,
        "call-refused",
    ),
    case(
        "a_helper_that_returns_nothing",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        def loss_of(out, y):
            diff = (out - y) ** 2
            diff.mean()  # CULPRIT
        net = nn.Linear(3, 1)
        loss = loss_of(net(torch.randn(4, 3)), torch.zeros(4, 1))
        loss.backward()
        """,
        "call-refused",
    ),
    case(
        "a_layer_that_is_not_there",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc1 = nn.Linear(4, 8)
                self.out = nn.Linear(8, 2)  # CULPRIT
            def forward(self, x):
                return self.fc2(self.fc1(x).relu())  # CULPRIT
        net = Net()
        print(net(torch.randn(3, 4)))
        """,
        "call-refused",
        says=["`fc1` (line"],
    ),
    case(
        "a_shape_of_three_for_two_names",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        def unpack(x):
            b, t = x.shape  # CULPRIT
            return b * t
        x = torch.randn(4, 3, 2)
        print(unpack(x))
        """,
        "call-refused",
        says=["(4, 3, 2)"],
    ),
    case(
        "a_reduction_among_the_settings_of_a_loss",
        """
        from typing import NamedTuple

        import torch
        from torch import nn
        import torch.nn.functional as F

        class LossSettings(NamedTuple):
            reduction: str = "avg"  # CULPRIT

        def loss_of(out, y, settings):
            return F.mse_loss(out, y, **settings._asdict())

        net = nn.Linear(3, 1)
        settings = LossSettings()
        loss = loss_of(net(torch.randn(4, 3)), torch.zeros(4, 1), settings)
        loss.backward()
        """,
        "call-refused",
        related=["refused here"],
    ),
]
