"""GV630: momentum-of-zero."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "frozen_by_a_momentum_of_zero",
        """
        import torch
        from torch import nn

        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

        def freeze(net):
            for m in net.modules():
                if isinstance(m, nn.BatchNorm1d):
                    m.momentum = 0.0  # CULPRIT

        for epoch in range(2):
            net.train()
            freeze(net)
            for step in range(3):
                x = torch.randn(8, 4) * 3 + 1
                optimizer.zero_grad()
                (net(x) - x.sum(1, keepdim=True)).square().mean().backward()
                optimizer.step()
            net.eval()
            with torch.no_grad():
                print(net(torch.randn(8, 4)).mean().item())
        """,
        "momentum-of-zero",
        says=["`eval()`", "3 steps"],
    ),
    case(
        "a_layer_made_with_a_momentum_of_zero",
        """
        import torch
        from torch import nn

        torch.manual_seed(0)
        net = nn.Sequential(
            nn.Linear(4, 8),
            nn.BatchNorm1d(8, momentum=0),  # CULPRIT
            nn.Linear(8, 1),
        )
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(4):
            x = torch.randn(8, 4) * 3 + 1
            optimizer.zero_grad()
            (net(x) - x.sum(1, keepdim=True)).square().mean().backward()
            optimizer.step()
        net.eval()
        with torch.no_grad():
            print(net(torch.randn(8, 4)).mean().item())
        """,
        "momentum-of-zero",
        says=["0.1"],
    ),
    case(
        "frozen_in_train_and_evaluated_again_and_again",
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh())
                self.head = nn.Linear(8, 1)
                self.frozen = False

            def train(self, mode=True):
                super().train(mode)
                for layer in self.body if self.frozen else ():
                    if isinstance(layer, nn.BatchNorm1d):
                        layer.momentum = 0.0  # CULPRIT
                return self

            def forward(self, x):
                return self.head(self.body(x))

        @torch.no_grad()
        def score(net, x):
            net.eval()
            return net(x).mean().item()

        torch.manual_seed(0)
        net, held_out = Net(), torch.randn(64, 4)
        for shift in (0.0, 2.0):
            net.frozen = shift > 0
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            for step in range(1, 91):
                net.train()
                x = torch.randn(8, 4) + shift
                optimizer.zero_grad()
                (net(x) - x.sum(1, keepdim=True)).square().mean().backward()
                optimizer.step()
                if step % 10 == 0:
                    print(score(net, held_out))
        """,
        "momentum-of-zero",
        says=["`eval()`"],
    ),
    case(
        "the_same_with_the_layers_in_evaluation_mode",
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh())
                self.head = nn.Linear(8, 1)
                self.frozen = False

            def train(self, mode=True):
                super().train(mode)
                for layer in self.body if self.frozen else ():
                    if isinstance(layer, nn.BatchNorm1d):
                        layer.momentum = 0.0
                        layer.eval()
                return self

            def forward(self, x):
                return self.head(self.body(x))

        @torch.no_grad()
        def score(net, x):
            net.eval()
            return net(x).mean().item()

        torch.manual_seed(0)
        net, held_out = Net(), torch.randn(64, 4)
        for shift in (0.0, 2.0):
            net.frozen = shift > 0
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            for step in range(1, 91):
                net.train()
                x = torch.randn(8, 4) + shift
                optimizer.zero_grad()
                (net(x) - x.sum(1, keepdim=True)).square().mean().backward()
                optimizer.step()
                if step % 10 == 0:
                    print(score(net, held_out))
        """,
    ),
    case(
        "the_second_pass_of_a_batch_does_not_count",
        """
        import torch
        from torch import nn

        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
        norm = net[1]
        optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
        for step in range(4):
            x = torch.randn(8, 4) * 3 + 1
            norm.momentum = 0.1
            with torch.no_grad():
                net(x)
            norm.momentum = 0.0
            optimizer.zero_grad()
            (net(x + 0.1) - x.sum(1, keepdim=True)).square().mean().backward()
            optimizer.step()
        net.eval()
        with torch.no_grad():
            print(net(torch.randn(8, 4)).mean().item())
        """,
    ),
    case(
        "statistics_that_are_computed_at_the_end",
        """
        import torch
        from torch import nn

        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
        net[1].momentum = 0.0
        optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
        data = torch.randn(4, 8, 4) * 3 + 1
        for x in data:
            optimizer.zero_grad()
            (net(x) - x.sum(1, keepdim=True)).square().mean().backward()
            optimizer.step()
        net[1].momentum = None
        with torch.no_grad():
            for x in data:
                net(x)
            net.eval()
            print(net(data[0]).mean().item())
        """,
    ),
]
