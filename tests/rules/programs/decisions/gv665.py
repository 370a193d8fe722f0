"""GV665: output-cannot-reach-targets."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "tanh_of_a_model_for_wide_targets",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(3, 16), nn.Linear(16, 1)
            def forward(self, x):
                h = torch.tanh(self.a(x))
                return torch.tanh(self.b(h)).squeeze(1)  # CULPRIT
        model = Net()
        x = torch.randn(64, 3)
        y = 4 * x[:, 0] + x[:, 1]
        criterion = nn.MSELoss()

        opt = torch.optim.Adam(model.parameters(), lr=0.01)
        for step in range(8):
            loss = criterion(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(loss.item())
        """,
        "output-cannot-reach-targets",
        says=["from -1 to 1"],
    ),
    case(
        "a_default_chose_the_last_activation",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        def mlp(sizes, act=nn.ReLU, last=nn.Sigmoid):  # CULPRIT
            layers = []
            for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
                layers += [nn.Linear(a, b), (act if i < len(sizes) - 2 else last)()]
            return nn.Sequential(*layers)
        model = mlp([3, 16, 1])
        x = torch.rand(64, 3)
        y = 20 + 10 * x.sum(1, keepdim=True)
        criterion = nn.L1Loss()

        opt = torch.optim.Adam(model.parameters(), lr=0.01)
        for step in range(8):
            loss = criterion(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(loss.item())
        """,
        "output-cannot-reach-targets",
        says=["chose it"],
    ),
    case(
        "activation_of_all_layers_behind_the_last_one",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        ACTIVATION = nn.ReLU

        def build(widths):
            layers, pairs = [], list(zip(widths[:-1], widths[1:]))
            for i, (a, b) in enumerate(pairs):
                layers.append(nn.Linear(a, b))
                if i < len(pairs):  # CULPRIT
                    layers.append(ACTIVATION())
            return nn.Sequential(*layers)

        torch.manual_seed(0)
        net = build((3, 16, 16, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(4):
            x = torch.randn(32, 3)
            opt.zero_grad()
            F.mse_loss(net(x), 2 * x.sum(1, keepdim=True)).backward()
            opt.step()
        """,
        "output-cannot-reach-targets",
    ),
    case(
        "sigmoid_before_unflatten_and_targets_below_zero",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        net = nn.Sequential(
            nn.Linear(4, 12),
            nn.Sigmoid(),  # CULPRIT
            nn.Unflatten(1, (3, 2, 2)),
        )
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        images = torch.rand(8, 3, 2, 2) * 2 - 1
        for step in range(4):
            loss = F.mse_loss(net(torch.randn(8, 4)), images)
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "output-cannot-reach-targets",
        says=["values from 0 to 1 only"],
    ),
]
