"""GV622: gradients-never-applied."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "step_without_parentheses",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for x in torch.randn(4, 2, 3):
            opt.zero_grad()
            loss = net(x).pow(2).mean()
            loss.backward()
            opt.step  # CULPRIT
        """,
        "gradients-never-applied",
        says=["`opt` never steps"],
    ),
    case(
        "only_the_scheduler_steps",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 1)
        opt = torch.optim.Adam(net.parameters(), lr=0.1)
        sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.9)
        for epoch in range(3):
            opt.zero_grad()
            net(torch.ones(2, 3)).pow(2).mean().backward()
            sched.step()  # CULPRIT
        """,
        "gradients-never-applied",
        says=["Only its scheduler steps"],
    ),
    case(
        "step_uncalled",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), 0.1)
        for _ in range(3):
            loss = net(torch.randn(4, 3)).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step  # CULPRIT
        """,
        "gradients-never-applied",
    ),
    case(
        "closure_that_no_step_is_given",
        """
        import torch
        from torch import nn
        def make_step(net, opt):
            def closure():
                opt.zero_grad()
                loss = net(torch.ones(4, 3)).pow(2).mean()
                loss.backward()
                return loss
            def step():
                return closure().item()  # CULPRIT
            return step
        net = nn.Linear(3, 1)
        step = make_step(net, torch.optim.LBFGS(net.parameters()))
        for _ in range(3):
            print(step())
        """,
        "gradients-never-applied",
        says=["step(closure)"],
    ),
    case(
        "steps_wait_for_more_batches_than_there_are",
        """
        import torch
        from dataclasses import dataclass

        @dataclass
        class Settings:
            rate: float = 0.1
            accumulate: int = 8  # CULPRIT

        class Loop:
            def __init__(self, settings):
                self.settings = settings
                self.net = torch.nn.Linear(3, 1)
                self.optimizer = torch.optim.SGD(self.net.parameters(), settings.rate)

            def epoch(self, batches):
                self.optimizer.zero_grad()
                for i, x in enumerate(batches, start=1):
                    loss = self.net(x).square().mean()
                    (loss / self.settings.accumulate).backward()
                    if i % self.settings.accumulate == 0:
                        self.optimizer.step()
                        self.optimizer.zero_grad()

        loop = Loop(Settings())
        for _ in range(4):
            loop.epoch(torch.randn(4, 5, 3))
        """,
        "gradients-never-applied",
        says=["`8` in line 7 decided that"],
    ),
    case(
        "steps_wait_for_what_never_holds",
        """
        import torch

        net = torch.nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for epoch in range(4):
            opt.zero_grad()
            for i, x in enumerate(torch.randn(4, 5, 3)):
                net(x).square().mean().backward()
                if i and i % 4 == 0:  # CULPRIT
                    opt.step()
        """,
        "gradients-never-applied",
        says=["waits for"],
    ),
    case(
        "steps_in_a_handler_that_always_returns_first",
        """
        import torch

        class Stepper:
            def __init__(self, optimizer, every=12):  # CULPRIT
                self.optimizer, self.every = optimizer, every

            def after_backward(self, batch):
                if (batch + 1) % self.every:
                    return
                self.optimizer.step()
                self.optimizer.zero_grad()

        def train(net, listeners, data):
            for epoch in range(4):
                net.zero_grad()
                for batch, x in enumerate(data):
                    net(x).square().mean().backward()
                    for listener in listeners:
                        listener.after_backward(batch)

        net = torch.nn.Linear(3, 1)
        stepper = Stepper(torch.optim.SGD(net.parameters(), lr=0.1))
        train(net, [stepper], torch.randn(5, 8, 3))
        """,
        "gradients-never-applied",
        says=["in `after_backward` comes only where", "`12` in line 4 decided that"],
    ),
    case(
        "steps_in_a_handler_that_come_once_in_a_while",
        """
        import torch

        class Stepper:
            def __init__(self, optimizer, every=2):
                self.optimizer, self.every = optimizer, every

            def after_backward(self, batch):
                if (batch + 1) % self.every:
                    return
                self.optimizer.step()
                self.optimizer.zero_grad()

        net = torch.nn.Linear(3, 1)
        stepper = Stepper(torch.optim.SGD(net.parameters(), lr=0.1))
        for epoch in range(2):
            net.zero_grad()
            for batch, x in enumerate(torch.randn(4, 8, 3)):
                (net(x).square().mean() / 2).backward()
                stepper.after_backward(batch)
        """,
    ),
]
