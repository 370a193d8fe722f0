"""GV502: exploding-gradient."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "recurrence_that_explodes",
        """
        import torch
        w = (2.0 * torch.eye(3)).requires_grad_()
        h = torch.ones(1, 3)
        for t in range(40):
            h = h @ w  # CULPRIT
        h.sum().backward()
        """,
        "exploding-gradient",
    ),
    case(
        "repeated_scalar_factor",
        """
        import torch
        w = torch.tensor(3.0, requires_grad=True)
        x = torch.ones(2)
        for _ in range(30):
            x = x * w  # CULPRIT
        x.mean().backward()
        """,
        "exploding-gradient",
    ),
    case(
        "wide_weights_of_size_one",
        """
        import torch
        ws = [torch.randn(32, 32, requires_grad=True) for _ in range(10)]
        h = torch.randn(4, 32)
        for w in ws:
            h = torch.relu(h @ w)  # CULPRIT
        h.mean().backward()
        """,
        "exploding-gradient",
    ),
    case(
        "growth_that_overflows",
        """
        import torch
        w = torch.full((2, 2), 50.0, requires_grad=True)
        h = torch.ones(1, 2)
        for _ in range(30):
            h = h @ w  # CULPRIT
        h.sum().backward()
        """,
        "exploding-gradient",
    ),
    case(
        "cell_that_explodes",
        """
        import torch
        import torch.nn as nn
        class Cell(nn.Module):
            def __init__(self):
                super().__init__()
                self.hh = nn.Linear(4, 4, bias=False)
                nn.init.eye_(self.hh.weight)
                self.hh.weight.data.mul_(1.8)
            def forward(self, x, h):
                return self.hh(h) + x  # CULPRIT
        cell = Cell()
        h = torch.zeros(1, 4)
        for t in range(50):
            h = cell(torch.ones(1, 4), h)
        h.sum().backward()
        """,
        "exploding-gradient",
    ),
    case(
        "weights_so_large_that_the_steps_are_too_long",
        """
        import torch
        from torch import nn
        torch.manual_seed(14)
        layers = [nn.Linear(32, 32) for _ in range(10)]
        for each in layers:
            nn.init.normal_(each.weight, std=2.0)  # CULPRIT
        net = nn.Sequential(*[m for each in layers for m in (each, nn.LeakyReLU())])
        opt = torch.optim.SGD(net.parameters(), lr=1e-4)
        for _ in range(3):
            loss = net(torch.randn(16, 32)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "exploding-gradient",
    ),
    case(
        "unit_normal_weights_everywhere",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        class MLP(nn.Module):
            def __init__(self, d=32, depth=12):
                super().__init__()
                parts = []
                for _ in range(depth):
                    parts += [nn.Linear(d, d), nn.ReLU()]
                self.net = nn.Sequential(*parts, nn.Linear(d, 1))
                self.apply(self.init)
            def init(self, m):
                if isinstance(m, nn.Linear):
                    nn.init.normal_(m.weight)  # CULPRIT
            def forward(self, x):
                return self.net(x)
        model = MLP()
        opt = torch.optim.Adam(model.parameters(), 1e-4)
        for _ in range(2):
            loss = model(torch.randn(8, 32)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "exploding-gradient",
        says=["made so large"],
    ),
    case(
        "convolutions_drawn_for_their_channels_alone",
        """
        import math
        import torch
        from torch import nn
        torch.manual_seed(0)
        def draw(layer):
            fan = layer.weight.size(1)  # CULPRIT
            nn.init.normal_(layer.weight, std=math.sqrt(2.0 / fan))
        def convolution(inputs, outputs):
            layer = nn.Conv2d(inputs, outputs, 3, padding=1)
            draw(layer)
            return layer
        parts = [convolution(1, 8), nn.ReLU()]
        for _ in range(9):
            parts += [convolution(8, 8), nn.ReLU()]
        net = nn.Sequential(*parts, convolution(8, 1))
        opt = torch.optim.Adam(net.parameters(), 1e-3)
        for _ in range(3):
            loss = net(torch.randn(4, 1, 8, 8)).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "exploding-gradient",
        engines=("torch",),
    ),
]
