"""Correct programs that choose layers, losses and labels in the same ways."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "a_configured_probability",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        from dataclasses import dataclass
        ACTS = {"relu": nn.ReLU, "sigmoid": nn.Sigmoid, "none": nn.Identity}
        @dataclass
        class Config:
            width: int = 16
            hidden_act: str = "relu"
            head_act: str = "none"
        def build(cfg):
            return nn.Sequential(
                nn.Linear(4, cfg.width), ACTS[cfg.hidden_act](),
                nn.Linear(cfg.width, 1), ACTS[cfg.head_act](),
            )
        cfg = Config(
            width=8,
            head_act="sigmoid",
        )
        model = build(cfg)
        criterion = nn.BCELoss()
        x = torch.randn(32, 4)
        y = (x[:, :1] > 0).float()

        opt = torch.optim.Adam(model.parameters(), lr=0.01)
        for step in range(8):
            loss = criterion(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(loss.item())
        """,
    ),
    case(
        "an_option_for_the_right_loss",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        import argparse
        def get_loss(name):
            if name == "ce":
                return nn.CrossEntropyLoss()
            if name == "nll":
                return nn.NLLLoss()
            raise KeyError(name)
        parser = argparse.ArgumentParser()
        parser.add_argument("--lr", type=float, default=0.01)
        parser.add_argument("--loss", default="ce", choices=["ce", "nll"])
        args = parser.parse_args([])
        model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
        criterion = get_loss(args.loss)
        x = torch.randn(32, 4)
        y = torch.randint(0, 3, (32,))

        opt = torch.optim.Adam(model.parameters(), lr=0.01)
        for step in range(8):
            loss = criterion(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(loss.item())
        """,
    ),
    case(
        "only_the_body_is_frozen",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(4, 8)
                self.head = nn.Linear(8, 3)
            def forward(self, x):
                return self.head(self.body(x).relu())
        model = Net()
        for name, p in model.named_parameters():
            if "head" not in name:
                p.requires_grad = False
        criterion = nn.CrossEntropyLoss()
        x = torch.randn(32, 4)
        y = torch.randint(0, 3, (32,))

        opt = torch.optim.Adam(model.parameters(), lr=0.01)
        for step in range(8):
            loss = criterion(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(loss.item())
        """,
    ),
    case(
        "targets_squashed_as_the_output_is",
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
                return torch.tanh(self.b(h)).squeeze(1)
        model = Net()
        x = torch.randn(64, 3)
        y = torch.tanh(4 * x[:, 0] + x[:, 1])
        criterion = nn.MSELoss()

        opt = torch.optim.Adam(model.parameters(), lr=0.01)
        for step in range(8):
            loss = criterion(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(loss.item())
        """,
    ),
    case(
        "positive_targets_of_a_relu",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1), nn.ReLU())
        x = torch.randn(64, 3)
        y = x[:, :1].abs() * 5
        criterion = nn.SmoothL1Loss()

        opt = torch.optim.Adam(model.parameters(), lr=0.01)
        for step in range(8):
            loss = criterion(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(loss.item())
        """,
    ),
    case(
        "a_student_behind_a_relu",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        teacher = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 4))
        model = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        x = torch.randn(64, 3)
        with torch.no_grad():
            y = teacher(x)
        criterion = nn.MSELoss()

        opt = torch.optim.Adam(model.parameters(), lr=0.01)
        for step in range(8):
            loss = criterion(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(loss.item())
        """,
    ),
    case(
        "trained_in_each_turn",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Sequential(
                    nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.5),
                    nn.Linear(16, 2),
                )
            def forward(self, x):
                return self.net(x)
        def evaluate(model, x, y):
            model.eval()
            with torch.no_grad():
                return (model(x).argmax(1) == y).float().mean().item()
        def fit(model, x, y, epochs=4):
            opt = torch.optim.SGD(model.parameters(), lr=0.1)
            for epoch in range(epochs):
                model.train()
                for xb, yb in zip(x.split(16), y.split(16)):
                    loss = F.cross_entropy(model(xb), yb)
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
                print(evaluate(model, x, y))
        x = torch.randn(64, 4)
        fit(Net(), x, (x[:, 0] > 0).long())
        """,
    ),
    case(
        "monte_carlo_dropout_and_a_decay_in_stairs",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 32), nn.Dropout(0.5), nn.Linear(32, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        stairs = torch.optim.lr_scheduler.LambdaLR(opt, lambda e: 0.5 ** (e // 3))
        x = torch.ones(8, 4)
        for epoch in range(6):
            loss = (net(x) - 1).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            stairs.step()
        with torch.no_grad():
            samples = torch.stack([net(x) for _ in range(8)])
        print(samples.mean(0), samples.std(0))
        net.eval()
        with torch.no_grad():
            print(torch.equal(net(x), net(x)))
        """,
    ),
]
