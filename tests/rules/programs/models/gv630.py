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
