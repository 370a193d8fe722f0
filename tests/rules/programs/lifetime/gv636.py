"""GV636: graph-carried-along."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "a_power_iteration_that_keeps_its_graph",
        """
        import torch
        import torch.nn.functional as F

        torch.manual_seed(0)

        class Bounded(torch.nn.Module):
            def __init__(self, n):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.randn(n, n))
                self.u = F.normalize(torch.randn(n), dim=0)

            def forward(self, x):
                v = F.normalize(torch.mv(self.weight.t(), self.u), dim=0)
                u = F.normalize(torch.mv(self.weight, v), dim=0)
                self.u = u  # CULPRIT
                sigma = torch.dot(u.detach(), torch.mv(self.weight, v.detach()))
                return F.linear(x, self.weight / sigma)

        net = Bounded(6)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(14):
            x = torch.randn(8, 6)
            optimizer.zero_grad()
            (net(x) - x).pow(2).mean().backward()
            optimizer.step()
        """,
        "graph-carried-along",
        says=["goes back over at least 13 steps"],
        related=["read in the next step"],
    ),
]
