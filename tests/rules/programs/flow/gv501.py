"""GV501: vanishing-gradient."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "deep_sigmoid_stack",
        """
        import torch
        ws = [torch.full((4, 4), 0.4, requires_grad=True) for _ in range(14)]
        h = torch.ones(1, 4)
        for w in ws:
            z = h @ w
            h = torch.sigmoid(z)  # CULPRIT
        h.sum().backward()
        """,
        "vanishing-gradient",
        says=["14 runs of `sigmoid`"],
    ),
    case(
        "deep_sigmoid_modules",
        """
        import torch
        import torch.nn as nn
        class Net(nn.Module):
            def __init__(self, depth):
                super().__init__()
                self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(depth))
            def forward(self, x):
                for layer in self.layers:
                    x = layer(x).sigmoid()  # CULPRIT
                return x
        net = Net(12)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            net(torch.randn(16, 8)).mean().backward()
            opt.step()
        """,
        "vanishing-gradient",
    ),
    case(
        "deep_sigmoid_sequence",
        """
        import torch
        import torch.nn as nn
        layers = []
        for _ in range(12):
            layers.append(nn.Linear(8, 8))
            layers.append(nn.Sigmoid())  # CULPRIT
        net = nn.Sequential(*layers)
        net(torch.randn(16, 8)).mean().backward()
        """,
        "vanishing-gradient",
    ),
    case(
        "recurrence_that_forgets",
        """
        import torch
        w = (0.4 * torch.eye(4)).requires_grad_()
        h, x = torch.ones(1, 4), 0.1 * torch.randn(60, 1, 4)
        for t in range(60):
            h = torch.tanh(h @ w + x[t])  # CULPRIT
        h.sum().backward()
        """,
        "vanishing-gradient",
    ),
    case(
        "tanh_layers_drawn_too_small",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        layers = nn.ModuleList(nn.Linear(12, 12) for _ in range(9))
        for layer in layers:
            nn.init.normal_(layer.weight, std=0.01)  # CULPRIT
            nn.init.zeros_(layer.bias)
        x = torch.randn(8, 12)
        for layer in layers:
            x = torch.tanh(layer(x))
        (x - 1).square().mean().backward()
        """,
        "vanishing-gradient",
        says=["made so small"],
    ),
    case(
        "sigmoid_chosen_by_a_configuration",
        """
        import torch
        import torch.nn as nn
        from dataclasses import dataclass
        ACTIVATIONS = {"relu": nn.ReLU, "sigmoid": nn.Sigmoid}
        @dataclass
        class Config:
            width: int = 16
            activation: str = "sigmoid"  # CULPRIT
        class Net(nn.Module):
            def __init__(self, config):
                super().__init__()
                activation = ACTIVATIONS[config.activation]
                layers = []
                for _ in range(9):
                    layer = nn.Linear(config.width, config.width)
                    nn.init.xavier_normal_(layer.weight, 1.4)
                    layers += [layer, activation()]
                self.net = nn.Sequential(*layers, nn.Linear(config.width, 1))
            def forward(self, x):
                return self.net(x)
        torch.manual_seed(0)
        net = Net(Config())
        opt = torch.optim.Adam(net.parameters(), lr=1e-3)
        for _ in range(3):
            opt.zero_grad()
            net(torch.randn(16, 16)).square().mean().backward()
            opt.step()
        """,
        "vanishing-gradient",
        says=["9 runs of `sigmoid`", "chose it"],
    ),
]
