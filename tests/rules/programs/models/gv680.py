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
]
