"""GV604: a layer that a table, a branch, a field or a partial chose."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "a_field_of_a_configuration_chose_the_layer",
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
            head_act="sigmoid",  # CULPRIT
        )
        model = build(cfg)
        criterion = nn.BCEWithLogitsLoss()  # CULPRIT
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
        "double-softmax",
        says=["chose it"],
    ),
    case(
        "a_default_chose_the_branch",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        def activation(name):
            if name == "relu":
                return nn.ReLU()
            elif name == "softmax":
                return nn.Softmax(dim=1)
            raise ValueError(name)
        class Net(nn.Module):
            def __init__(self, sizes, out="softmax"):  # CULPRIT
                super().__init__()
                layers = []
                for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
                    layers.append(nn.Linear(a, b))
                    layers.append(activation(out if i == len(sizes) - 2 else "relu"))
                self.body = nn.Sequential(*layers)
            def forward(self, x):
                return self.body(x)
        model = Net([4, 16, 3])
        criterion = nn.CrossEntropyLoss()  # CULPRIT
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
        "double-softmax",
        says=["chose it"],
    ),
    case(
        "a_field_of_the_class_chose_the_layer",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        class Base(nn.Module):
            out_act = nn.Sigmoid  # CULPRIT
            def __init__(self, n):
                super().__init__()
                self.fc = nn.Linear(n, 1)
                self.out = self.out_act()
            def forward(self, x):
                return self.out(self.fc(x))
        class Churn(Base):
            pass
        model = Churn(4)
        criterion = nn.BCEWithLogitsLoss()  # CULPRIT
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
        "double-softmax",
    ),
    case(
        "a_partial_function_chose_the_layer",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        from functools import partial
        def make_head(n_in, n_out, act=None):
            layers = [nn.Linear(n_in, n_out)]
            if act is not None:
                layers.append(act())
            return nn.Sequential(*layers)
        head = partial(make_head, act=nn.Sigmoid)  # CULPRIT
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), head(8, 1))
        criterion = nn.BCEWithLogitsLoss()  # CULPRIT
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
        "double-softmax",
    ),
    case(
        "a_key_chose_a_maker_of_layers",
        """
        import torch
        import torch.nn as nn
        from dataclasses import dataclass, field
        ACTIVATIONS = {
            "relu": nn.ReLU,
            "softmax": lambda: nn.Softmax(dim=1),
            "none": nn.Identity,
        }
        @dataclass
        class Head:
            hidden: str = "relu"
            final: str = "softmax"  # CULPRIT
        @dataclass
        class Config:
            classes: int = 3
            head: Head = field(default_factory=Head)
        class Net(nn.Module):
            def __init__(self, cfg):
                super().__init__()
                head = cfg.head
                self.head = nn.Sequential(
                    nn.Linear(4, 8), ACTIVATIONS[head.hidden](),
                    nn.Linear(8, cfg.classes), ACTIVATIONS[head.final](),
                )
            def forward(self, x):
                return self.head(x)
        net = Net(Config())
        x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
        nn.CrossEntropyLoss()(net(x), y).backward()
        """,
        "double-softmax",
        says=["chose it"],
    ),
    case(
        "a_key_chose_a_layer_of_a_table",
        """
        import argparse
        import torch
        import torch.nn as nn
        class Net(nn.Module):
            def __init__(self, last):
                super().__init__()
                self.lin = nn.Linear(4, 3)
                self.ends = nn.ModuleDict(
                    {"softmax": nn.Softmax(dim=1), "none": nn.Identity()}
                )
                self.last = last
            def forward(self, x):
                return self.ends[self.last](self.lin(x))
        parser = argparse.ArgumentParser()
        parser.add_argument("--last", default="softmax")  # CULPRIT
        net = Net(parser.parse_args([]).last)
        x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
        nn.functional.cross_entropy(net(x), y).backward()
        """,
        "double-softmax",
    ),
]
