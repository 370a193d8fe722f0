"""GV673: loop-only-rebinds."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "average_begun_by_a_name",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Average:
            def __init__(self, net, slow):
                self.params, self.slow = list(net.parameters()), list(slow.parameters())
                for p, s in zip(self.params, self.slow):
                    s = p  # CULPRIT
            @torch.no_grad()
            def step(self):
                for p, s in zip(self.params, self.slow):
                    s.mul_(0.9).add_(p, alpha=0.1)
        net, slow = nn.Linear(4, 2), nn.Linear(4, 2).requires_grad_(False)
        average = Average(net, slow)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            opt.zero_grad()
            net(torch.randn(6, 4)).pow(2).mean().backward()
            opt.step()
            average.step()
        print(slow(torch.randn(2, 4)))
        """,
        "loop-only-rebinds",
        says=["`s = p`", "`s.copy_(…)`"],
    ),
    case(
        "weights_clipped_by_a_name",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        critic = nn.Linear(4, 1)
        opt = torch.optim.SGD(critic.parameters(), lr=0.1)
        for step in range(3):
            opt.zero_grad()
            (critic(torch.randn(6, 4)) - critic(torch.rand(6, 4))).mean().backward()
            opt.step()
            for w in critic.parameters():
                w = w.clamp(-0.1, 0.1)  # CULPRIT
        """,
        "loop-only-rebinds",
    ),
]
