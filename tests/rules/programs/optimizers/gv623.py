"""GV623: scheduler-before-optimizer."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "scheduler_first_in_each_epoch",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        sched = torch.optim.lr_scheduler.StepLR(opt, step_size=1, gamma=0.5)
        for epoch in range(3):
            sched.step()  # CULPRIT
            for batch in range(2):
                opt.zero_grad()
                net(torch.ones(2, 3)).pow(2).mean().backward()
                opt.step()
        """,
        "scheduler-before-optimizer",
        says=["begins with 0.05, and 0.1"],
    ),
    case(
        "scheduler_before_step_in_a_trainer",
        """
        import torch
        import torch.nn as nn

        class Trainer:
            def __init__(self, net):
                self.net = net
                self.opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
                schedules = torch.optim.lr_scheduler
                self.sched = schedules.CosineAnnealingLR(self.opt, T_max=10)

            def update(self, loss):
                self.opt.zero_grad()
                loss.backward()
                self.sched.step()  # CULPRIT
                self.opt.step()

        trainer = Trainer(nn.Linear(3, 1))
        for step in range(3):
            trainer.update(trainer.net(torch.ones(2, 3)).pow(2).mean())
        """,
        "scheduler-before-optimizer",
    ),
    case(
        "schedule_of_batches_where_gradients_are_accumulated",
        """
        import torch
        from torch import nn
        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        schedule = torch.optim.lr_scheduler.StepLR(opt, 10)
        for i in range(24):
            net(torch.randn(8, 4)).square().mean().backward()
            if i % 4 == 3:
                opt.step()
                opt.zero_grad()
            schedule.step()  # CULPRIT
        """,
        "scheduler-before-optimizer",
        says=["runs 24 times while line 9 lets the optimizer step 6 times"],
    ),
]
