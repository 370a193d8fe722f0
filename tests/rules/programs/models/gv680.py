"""GV680: copy-without-buffers."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "average_of_parameters_alone",
        """
        import copy
        import torch
        from torch import nn

        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
        slow = copy.deepcopy(model).eval()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(4):
            x = torch.randn(16, 4) * 3 + 1
            loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for s, m in zip(slow.parameters(), model.parameters()):  # CULPRIT
                    s.lerp_(m, 0.1)
                print(slow(x).mean().item())
        """,
        "copy-without-buffers",
        says=["running mean"],
    ),
    case(
        "average_of_parameters_alone_in_two_steps",
        """
        import copy
        import torch
        from torch import nn

        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
        slow = copy.deepcopy(model).eval().requires_grad_(False)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(4):
            x = torch.randn(16, 4) * 3 + 1
            loss = (model(x) - slow(x) - 1).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for m, s in zip(model.parameters(), slow.parameters()):  # CULPRIT
                    s.data.mul_(0.9)
                    s.data.add_(m.data * (1 - 0.9))
        """,
        "copy-without-buffers",
        says=["running mean"],
    ),
    case(
        "average_in_two_steps_with_the_buffers",
        """
        import copy
        import torch
        from torch import nn

        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
        slow = copy.deepcopy(model).eval().requires_grad_(False)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(4):
            x = torch.randn(16, 4) * 3 + 1
            loss = (model(x) - slow(x) - 1).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for m, s in zip(model.parameters(), slow.parameters()):
                    s.data.mul_(0.9)
                    s.data.add_(m.data * (1 - 0.9))
                for m, s in zip(model.buffers(), slow.buffers()):
                    s.copy_(m)
        """,
    ),
]
