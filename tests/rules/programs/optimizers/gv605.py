"""GV605: optimizer-stale-params."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "head_replaced_after_the_optimizer",
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self, classes):
                super().__init__()
                self.body = nn.Linear(4, 8)
                self.head = nn.Linear(8, classes)

            def forward(self, x):
                return self.head(torch.relu(self.body(x)))

        net = Net(10)
        opt = torch.optim.Adam(net.parameters(), lr=1e-3)
        net.head = nn.Linear(8, 2)  # CULPRIT
        for step in range(2):
            loss = net(torch.randn(5, 4)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "optimizer-stale-params",
        says=["`head.bias` and `head.weight`", "`opt`"],
        related=["took its parameters here"],
    ),
    case(
        "model_made_anew_after_the_optimizer",
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(4, 4)
                self.b = nn.Linear(4, 1)

            def forward(self, x):
                return self.b(torch.tanh(self.a(x)))

        net = Net()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        net = Net()  # CULPRIT
        for step in range(2):
            opt.zero_grad()
            net(torch.randn(5, 4)).pow(2).mean().backward()
            opt.step()
        """,
        "optimizer-stale-params",
    ),
    case(
        "parameter_assigned_after_the_optimizer",
        """
        import torch
        from torch import nn

        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        net.weight = nn.Parameter(torch.zeros(1, 3))  # CULPRIT
        for step in range(2):
            opt.zero_grad()
            (net(torch.randn(5, 3)) - 1).pow(2).mean().backward()
            opt.step()
        """,
        "optimizer-stale-params",
    ),
    case(
        "adapters_added_after_the_optimizer",
        """
        import torch
        from torch import nn

        class Adapted(nn.Module):
            def __init__(self, base):
                super().__init__()
                self.base = base
                self.adapter = nn.Linear(4, 4)

            def forward(self, x):
                return self.base(x) + self.adapter(x)

        net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
        opt = torch.optim.Adam(net.parameters())
        net[0] = Adapted(net[0])  # CULPRIT
        for step in range(2):
            opt.zero_grad()
            net(torch.randn(5, 4)).pow(2).mean().backward()
            opt.step()
        """,
        "optimizer-stale-params",
        says=["adapter"],
    ),
    case(
        "layer_replaced_by_a_helper",
        """
        import torch
        from torch import nn
        def slim(layer, keep):
            new = nn.Linear(layer.in_features, keep)
            with torch.no_grad():
                new.weight.copy_(layer.weight[:keep])
                new.bias.copy_(layer.bias[:keep])
            return new
        net = nn.ModuleDict({"a": nn.Linear(4, 8), "b": nn.Linear(6, 2)})
        opt = torch.optim.Adam(net.parameters(), lr=1e-2)
        net["a"] = slim(net["a"], 6)  # CULPRIT
        for _ in range(3):
            loss = net["b"](torch.relu(net["a"](torch.randn(5, 4)))).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "optimizer-stale-params",
    ),
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
    case(
        "model_of_each_fold",
        """
        import torch
        import torch.nn as nn
        def build():
            return nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 1))
        model = build()
        opt = torch.optim.Adam(model.parameters(), lr=1e-2)  # INSTEAD
        for fold in range(2):
            model = build()  # CULPRIT
            for _ in range(3):
                loss = model(torch.randn(4, 3)).pow(2).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
        """,
        "optimizer-stale-params",
    ),
]
