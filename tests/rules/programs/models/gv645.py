"""GV645: parameter-made-in-forward."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "parameter_made_in_forward",
        """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.out = nn.Linear(3, 1)
            def forward(self, x):
                shift = nn.Parameter(torch.randn(3) * 0.1)  # CULPRIT
                return self.out(x + shift)
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            optimizer.zero_grad()
            net(torch.randn(4, 3)).square().mean().backward()
            optimizer.step()
        """,
        "parameter-made-in-forward",
        says=["3 so far"],
    ),
    case(
        "layer_made_in_forward_by_a_helper",
        """
        import torch
        from torch import nn
        class Block(nn.Module):
            def __init__(self, a, b):
                super().__init__()
                self.a, self.b, self.main = a, b, nn.Linear(a, b)
            def shortcut(self):
                if self.a == self.b:
                    return nn.Identity()
                return nn.Sequential(nn.Linear(self.a, self.b), nn.LayerNorm(self.b))
            def forward(self, x):
                skip = self.shortcut()(x)  # CULPRIT
                return torch.relu(self.main(x) + skip)
        net = nn.Sequential(Block(3, 8), Block(8, 8), Block(8, 1))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            optimizer.zero_grad()
            net(torch.randn(4, 3)).square().mean().backward()
            optimizer.step()
        """,
        "parameter-made-in-forward",
        says=["parameters so far"],
    ),
    case(
        "layers_made_once_when_first_called",
        """
        import torch
        from torch import nn
        class Lazy(nn.Module):
            def __init__(self, b):
                super().__init__()
                self.b, self.layer = b, None
            def forward(self, x):
                if self.layer is None:
                    self.layer = nn.Linear(x.shape[-1], self.b)
                return torch.tanh(self.layer(x))
        net = nn.Sequential(Lazy(4), Lazy(4), nn.Linear(4, 1))
        net(torch.randn(4, 3))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            optimizer.zero_grad()
            net(torch.randn(4, 3)).square().mean().backward()
            optimizer.step()
        """,
    ),
]
