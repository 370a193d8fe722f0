"""GV668: one-layer-many-times."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "hidden_layers_by_multiplication",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Net(nn.Module):
            def __init__(self, n, d):
                super().__init__()
                self.first = nn.Linear(3, n)
                self.hidden = nn.ModuleList([nn.Linear(n, n)] * d)  # CULPRIT
                self.last = nn.Linear(n, 1)
            def forward(self, x):
                x = torch.relu(self.first(x))
                for layer in self.hidden:
                    x = torch.relu(layer(x))
                return self.last(x)
        net = Net(8, 3)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            net(torch.randn(4, 3)).pow(2).mean().backward()
            opt.step()
        """,
        "one-layer-many-times",
        says=["runs 3 times"],
    ),
    case(
        "a_block_of_layers_many_times",
        """
        import torch
        from torch import nn
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(4, 4)
            def forward(self, x):
                return torch.tanh(self.lin(x))
        net = nn.Sequential(*[Block()] * 3)  # CULPRIT
        opt = torch.optim.Adam(net.parameters())
        for _ in range(3):
            loss = net(torch.randn(5, 4)).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "one-layer-many-times",
    ),
    case(
        "block_of_layers_many_times",
        """
        import torch
        from torch import nn
        depth = 3
        hidden = [nn.Linear(4, 4), nn.LayerNorm(4), nn.Tanh()] * depth  # CULPRIT
        net = nn.Sequential(*hidden, nn.Linear(4, 1))
        net(torch.randn(2, 4)).sum().backward()
        """,
        "one-layer-many-times",
        says=["for each in (nn.Linear(4, 4), nn.LayerNorm(4), nn.Tanh())"],
    ),
    case(
        "a_helper_makes_one_head_for_all",
        """
        import torch
        from torch import nn

        class Ensemble(nn.Module):
            def __init__(self, members, width):
                super().__init__()
                self.stem = nn.Linear(3, width)
                self.heads = members * [self.head(width)]  # CULPRIT
                self.kept = nn.ModuleList(self.heads)

            @staticmethod
            def head(width):
                layers = nn.Sequential(nn.Linear(width, width), nn.Tanh())
                layers.append(nn.Linear(width, 1))
                return layers

            def forward(self, x):
                h = self.stem(x).tanh()
                return torch.stack([head(h) for head in self.heads]).mean(0)

        net = Ensemble(5, 4)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.randn(6, 3)).square().mean().backward()
            optimizer.step()
        """,
        "one-layer-many-times",
        says=["makes one Sequential", "runs 5 times"],
    ),
    case(
        "a_number_of_a_shared_layer_many_times",
        """
        import torch
        from torch import nn

        class Shared(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.cell = nn.Linear(width, width)

            def forward(self, x):
                return self.cell(self.cell(x).tanh())

        def fitted(width):
            net = Shared(width)
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            for _ in range(3):
                optimizer.zero_grad()
                loss = net(torch.ones(2, width)).square().mean()
                loss.backward()
                optimizer.step()
            return loss.item()

        print([fitted(4)] * 2)
        """,
    ),
]
