"""GV625: the whole division of a schedule."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "a_warm_up_that_divides_without_remainder",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        WARMUP = 50
        ramp = lambda epoch: min(1, (epoch + 1) // WARMUP)  # CULPRIT
        sched = torch.optim.lr_scheduler.LambdaLR(opt, lr_lambda=ramp)
        for epoch in range(10):
            loss = net(torch.randn(8, 3)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
        """,
        "zero-learning-rate",
        says=["divides without remainder"],
    ),
    case(
        "factor_of_nothing",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        plan = torch.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0)  # CULPRIT
        for _ in range(8):
            opt.zero_grad()
            net(torch.randn(4, 3)).square().mean().backward()
            opt.step()
            plan.step()
        """,
        "zero-learning-rate",
        says=["multiplies it with 0"],
    ),
]
