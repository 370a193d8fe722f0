"""GV606: layers-in-plain-list."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "layers_appended_to_a_list",
        """
        import torch
        from torch import nn

        class Deep(nn.Module):
            def __init__(self, depth):
                super().__init__()
                self.layers = []  # CULPRIT
                for _ in range(depth):
                    self.layers.append(nn.Linear(4, 4))
                self.out = nn.Linear(4, 1)

            def forward(self, x):
                for layer in self.layers:
                    x = torch.tanh(layer(x))
                return self.out(x)

        net = Deep(2)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            opt.zero_grad()
            net(torch.randn(5, 4)).pow(2).mean().backward()
            opt.step()
        """,
        "layers-in-plain-list",
        says=["`self.layers`", "4 parameters"],
        related=["layer created here"],
    ),
    case(
        "layers_in_a_dict",
        """
        import torch
        from torch import nn

        class Heads(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(4, 4)
                self.heads = {  # CULPRIT
                    "a": nn.Linear(4, 1),
                    "b": nn.Linear(4, 2),
                }

            def forward(self, x):
                x = self.body(x)
                return {name: head(x) for name, head in self.heads.items()}

        net = Heads()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        out = net(torch.randn(5, 4))
        loss = out["a"].mean() + out["b"].pow(2).mean()
        loss.backward()
        opt.step()
        """,
        "layers-in-plain-list",
    ),
    case(
        "plain_tensor_as_a_weight",
        """
        import torch
        from torch import nn

        class Scale(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 3)
                self.gain = torch.ones(3, requires_grad=True)  # CULPRIT

            def forward(self, x):
                return self.fc(x) * self.gain

        net = Scale()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            opt.zero_grad()
            net(torch.randn(5, 3)).pow(2).mean().backward()
            opt.step()
        """,
        "layers-in-plain-list",
        says=["gain"],
    ),
    case(
        "layers_in_objects_in_a_list",
        """
        from dataclasses import dataclass
        import torch
        from torch import nn

        @dataclass
        class Branch:
            start: int
            gate: nn.Linear

            @classmethod
            def over(cls, start, width):
                return cls(start, nn.Linear(2, width))

            def __call__(self, x):
                return torch.tanh(self.gate(x[:, self.start:self.start + 2]))

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.branches = [Branch.over(at, 3) for at in (0, 2)]  # CULPRIT
                self.out = nn.Linear(6, 1)

            def forward(self, x):
                return self.out(torch.cat([each(x) for each in self.branches], 1))

        net = Net()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            opt.zero_grad()
            net(torch.randn(5, 4)).pow(2).mean().backward()
            opt.step()
        """,
        "layers-in-plain-list",
        says=["plain list of Branch", "Make `Branch` an `nn.Module`, and the list"],
    ),
    case(
        "layers_in_an_object",
        """
        import torch
        from torch import nn

        class Heads:
            def __init__(self, width):
                self.layers = {"low": nn.Linear(width, 1), "high": nn.Linear(width, 1)}

            def __call__(self, x):
                return self.layers["low"](x) + self.layers["high"](x).exp()

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(4, 3)
                self.heads = Heads(3)  # CULPRIT

            def forward(self, x):
                return self.heads(torch.tanh(self.body(x)))

        net = Net()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            opt.zero_grad()
            net(torch.randn(5, 4)).pow(2).mean().backward()
            opt.step()
        """,
        "layers-in-plain-list",
        says=["Make `Heads` an `nn.Module`."],
    ),
]
