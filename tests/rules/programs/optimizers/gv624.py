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
    case(
        "optimizer_made_anew_without_its_scheduler",
        """
        import torch
        from torch import nn
        body, head = nn.Linear(3, 4), nn.Linear(4, 1)
        body.requires_grad_(False)
        class Trainer:
            def give(self, params):
                self.opt = torch.optim.SGD(params, lr=0.1)
            def begin(self):
                self.give(head.parameters())
                self.plan = torch.optim.lr_scheduler.ExponentialLR(self.opt, 0.9)
            def unfreeze(self):
                body.requires_grad_(True)
                self.give([*body.parameters(), *head.parameters()])  # CULPRIT
            def fit(self, steps):
                for _ in range(steps):
                    self.opt.zero_grad()
                    head(body(torch.randn(4, 3))).square().mean().backward()
                    self.opt.step()
                    self.plan.step()
        trainer = Trainer()
        trainer.begin()
        trainer.fit(3)
        trainer.unfreeze()
        trainer.fit(3)
        """,
        "scheduler-of-another-optimizer",
        says=["steps no more"],
    ),
    case(
        "each_phase_has_an_optimizer_and_a_scheduler",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        for rate in (0.1, 0.01):
            opt = torch.optim.SGD(net.parameters(), lr=rate)
            plan = torch.optim.lr_scheduler.ExponentialLR(opt, 0.9)
            for _ in range(3):
                opt.zero_grad()
                net(torch.randn(4, 3)).square().mean().backward()
                opt.step()
                plan.step()
        """,
    ),
    case(
        "schedule_of_the_optimizer_of_the_phase_before",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)

        def train(opt):
            opt.zero_grad()
            net(torch.randn(4, 3)).square().mean().backward()
            opt.step()

        adam = torch.optim.Adam(net.parameters())
        for _ in range(3):
            train(adam)
        sgd = torch.optim.SGD(net.parameters(), lr=0.1)
        plan = torch.optim.lr_scheduler.CosineAnnealingLR(adam, 4)  # CULPRIT
        for _ in range(4):
            train(sgd)
            plan.step()
        """,
        "scheduler-of-another-optimizer",
        says=["Make the scheduler from `sgd`"],
    ),
    case(
        "parts_by_their_names_of_which_one_is_made_twice",
        """
        import torch
        net = torch.nn.Linear(3, 1)
        kinds = {
            "sgd": torch.optim.SGD,
            "decay": torch.optim.lr_scheduler.ExponentialLR,
        }

        def part(kind, of, number):
            return kinds[kind](of, number)

        weights = list(net.parameters())
        opt = part("sgd", weights, 0.1)
        plan = part("decay", part("sgd", weights, 0.1), 0.9)  # CULPRIT
        for _ in range(4):
            opt.zero_grad()
            net(torch.randn(4, 3)).square().mean().backward()
            opt.step()
            plan.step()
        """,
        "scheduler-of-another-optimizer",
        says=["Make the scheduler from `opt`"],
    ),
]
