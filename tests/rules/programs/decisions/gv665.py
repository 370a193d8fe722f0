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
    case(
        "one_entry_of_a_table_of_heads_chose_the_end",
        """
        import torch
        from torch import nn

        torch.manual_seed(0)
        ENDS = {"none": nn.Identity, "share": nn.Sigmoid, "size": nn.Softplus}
        HEADS = [
            ("covered", "share"),
            ("depth", "size"),
            ("change", "share"),  # CULPRIT
        ]

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(3, 3)
                self.ends = nn.ModuleList([ENDS[end]() for _, end in HEADS])

            def forward(self, x):
                columns = self.body(x).unbind(1)
                return [end(each) for end, each in zip(self.ends, columns)]

        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        x = torch.randn(16, 3)
        targets = [x[:, 0].sigmoid(), x[:, 1].abs(), x[:, 2] * 2]
        for _ in range(4):
            losses = [
                nn.functional.mse_loss(given, wanted)
                for given, wanted in zip(net(x), targets)
            ]
            optimizer.zero_grad()
            sum(losses).backward()
            optimizer.step()
        """,
        "output-cannot-reach-targets",
        says=["chose it"],
    ),
    case(
        "one_turn_of_a_loop_called_the_end",
        """
        import torch
        from torch import nn
        from dataclasses import dataclass

        torch.manual_seed(0)

        @dataclass
        class Head:
            place: int
            end: str = "none"

        ENDS = {"none": lambda x: x, "share": torch.sigmoid, "size": torch.relu}
        HEADS = {
            "change": Head(2, end="share"),  # CULPRIT
            "covered": Head(0, end="share"),
        }

        class Net(nn.Module):
            def __init__(self, heads):
                super().__init__()
                self.body, self.heads = nn.Linear(3, 3), heads

            def forward(self, x):
                columns, found = self.body(x), {}
                for name, head in self.heads.items():
                    found[name] = ENDS[head.end](columns[:, head.place])
                return found

        net = Net(HEADS)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        x = torch.randn(16, 3)
        for _ in range(4):
            given = net(x)
            loss = (given["covered"] - x[:, 0].sigmoid()).square().mean()
            loss = loss + nn.functional.mse_loss(given["change"], x[:, 2] * 2)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        "output-cannot-reach-targets",
    ),
    case(
        "each_entry_of_a_table_of_heads_fits",
        """
        import torch
        from torch import nn

        torch.manual_seed(0)
        ENDS = {"none": nn.Identity, "share": nn.Sigmoid}
        HEADS = [("covered", "share"), ("change", "none")]

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(3, 2)
                self.ends = nn.ModuleList([ENDS[end]() for _, end in HEADS])

            def forward(self, x):
                columns = self.body(x).unbind(1)
                return [end(each) for end, each in zip(self.ends, columns)]

        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        x = torch.randn(16, 3)
        for _ in range(4):
            covered, change = net(x)
            loss = nn.functional.mse_loss(covered, x[:, 0].sigmoid())
            loss = loss + nn.functional.mse_loss(change, x[:, 2] * 2)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ),
]
