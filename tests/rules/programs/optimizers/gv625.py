"""GV625: zero-learning-rate."""

from __future__ import annotations

from tests.rules.harness import Case, case
from tests.rules.shared import script

PROGRAMS: list[Case] = [
    case(
        "decay_with_each_batch",
        script("""
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.1)
for epoch in range(4):
    for x, y in batches:
        optimizer.zero_grad()
        F.mse_loss(net(x), y).backward()
        optimizer.step()
        schedule.step()  # CULPRIT
"""),
        "zero-learning-rate",
    ),
    case(
        "warm_up_from_zero_by_epochs",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        warm = lambda epoch: epoch / 5
        sched = torch.optim.lr_scheduler.LambdaLR(opt, warm)  # CULPRIT
        for epoch in range(2):
            for batch in range(4):
                opt.zero_grad()
                net(torch.ones(2, 3)).pow(2).mean().backward()
                opt.step()
            sched.step()
        """,
        "zero-learning-rate",
        says=["begins with a learning rate of 0"],
    ),
    case(
        "lambda_that_divides_whole_numbers",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        decay = lambda epoch: 1 // (1 + epoch)  # CULPRIT
        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        schedule = torch.optim.lr_scheduler.LambdaLR(opt, decay)
        for epoch in range(3):
            for part in range(3):
                loss = F.mse_loss(net(torch.randn(8, 4)), torch.randn(8, 1))
                opt.zero_grad()
                loss.backward()
                opt.step()
            schedule.step()
        """,
        "zero-learning-rate",
        says=["divides without remainder"],
    ),
    case(
        "function_that_is_zero_after_an_epoch",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F

        def factor(epoch):
            return max(0.0, 1 - epoch)  # CULPRIT

        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        schedule = torch.optim.lr_scheduler.LambdaLR(opt, lr_lambda=factor)
        for epoch in range(3):
            for part in range(3):
                loss = F.mse_loss(net(torch.randn(8, 4)), torch.randn(8, 1))
                opt.zero_grad()
                loss.backward()
                opt.step()
            schedule.step()
        """,
        "zero-learning-rate",
        says=["is 0 so early"],
    ),
    case(
        "schedule_that_is_used_up_by_batches_without_a_step",
        """
        import torch
        from torch import nn
        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        schedule = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.0, 6)
        for i in range(24):
            net(torch.randn(8, 4)).square().mean().backward()
            if i % 4 == 3:
                opt.step()
                opt.zero_grad()
            schedule.step()  # CULPRIT
        """,
        "zero-learning-rate",
        says=["runs 24 times while line 9 lets the optimizer step 6 times"],
    ),
]
