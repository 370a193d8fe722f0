"""GV620: step-without-backward."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "steps_without_backward",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 1)
        opt = torch.optim.Adam(net.parameters())
        def train_step(x):
            loss = net(x).pow(2).mean()
            opt.zero_grad()
            opt.step()  # CULPRIT
            return loss.item()
        history = [train_step(torch.randn(4, 3)) for _ in range(3)]
        """,
        "step-without-backward",
        says=["3 times", "on the loss before `step()`"],
    ),
    case(
        "backward_behind_a_switch_that_is_off",
        """
        import torch
        import torch.nn as nn

        class Trainer:
            def __init__(self, net, scaled=False):  # CULPRIT
                self.net, self.scaled = net, scaled
                self.opt = torch.optim.Adam(net.parameters())

            def step(self, x):
                loss = self.net(x).pow(2).mean()
                self.opt.zero_grad()
                if self.scaled:
                    loss.backward()
                self.opt.step()
                return loss.item()

        trainer = Trainer(nn.Linear(3, 1))
        history = [trainer.step(torch.randn(4, 3)) for _ in range(3)]
        """,
        "step-without-backward",
        says=["The only `backward()` is passed over", "`self.scaled`", "says `False`"],
    ),
    case(
        "backward_behind_a_device_that_is_not_there",
        """
        import torch
        import torch.nn as nn

        class Trainer:
            def __init__(self, net, scaled=False):
                self.net, self.scaled = net, scaled
                self.opt = torch.optim.Adam(net.parameters())

            def step(self, x):
                loss = self.net(x).pow(2).mean()
                self.opt.zero_grad()
                if next(self.net.parameters()).is_cuda:  # CULPRIT
                    loss.backward()
                self.opt.step()
                return loss.item()

        trainer = Trainer(nn.Linear(3, 1))
        history = [trainer.step(torch.randn(4, 3)) for _ in range(3)]
        """,
        "step-without-backward",
        says=["is true, and it never was"],
        engines=("torch",),
    ),
    case(
        "backward_behind_a_switch_that_is_on",
        """
        import torch
        import torch.nn as nn

        class Trainer:
            def __init__(self, net, scaled=False):
                self.net, self.scaled = net, scaled
                self.opt = torch.optim.Adam(net.parameters())

            def step(self, x):
                loss = self.net(x).pow(2).mean()
                self.opt.zero_grad()
                if not self.scaled:
                    loss.backward()
                self.opt.step()
                return loss.item()

        trainer = Trainer(nn.Linear(3, 1))
        history = [trainer.step(torch.randn(4, 3)) for _ in range(3)]
        """,
    ),
    case(
        "backward_uncalled",
        """
        import torch
        from torch import nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), 0.1)
        for _ in range(3):
            loss = net(torch.randn(4, 3)).pow(2).mean()
            opt.zero_grad()
            loss.backward  # CULPRIT
            opt.step()
        """,
        "step-without-backward",
    ),
]
