"""GV624: scheduler-of-another-optimizer."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "scheduler_keeps_the_old_optimizer",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        sched = torch.optim.lr_scheduler.StepLR(opt, 1)  # CULPRIT
        opt = torch.optim.Adam(net.parameters(), lr=0.01)
        for epoch in range(3):
            opt.zero_grad()
            net(torch.ones(2, 3)).pow(2).mean().backward()
            opt.step()
            sched.step()
        """,
        "scheduler-of-another-optimizer",
        related=["optimizer in use"],
    ),
]
