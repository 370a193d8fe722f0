"""GV612: clip-after-step."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "clipped_after_the_step",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            opt.zero_grad()
            net(torch.randn(5, 4)).pow(2).mean().backward()
            opt.step()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # CULPRIT
        """,
        "clip-after-step",
    ),
    case(
        "clamped_after_the_step",
        """
        import torch
        from torch import nn

        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(2):
            opt.zero_grad()
            net(torch.randn(5, 4)).pow(2).mean().backward()
            opt.step()
            for p in net.parameters():
                p.grad.clamp_(-1, 1)  # CULPRIT
        """,
        "clip-after-step",
    ),
    case(
        "value_clipping_after_the_step",
        """
        import torch
        from torch import nn
        from torch.nn.utils import clip_grad_value_

        class Trainer:
            def __init__(self):
                self.net = nn.Linear(4, 1)
                self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)

            def step(self, x):
                self.opt.zero_grad()
                loss = self.net(x).pow(2).mean()
                loss.backward()
                self.opt.step()
                clip_grad_value_(self.net.parameters(), 0.5)  # CULPRIT
                return loss.item()

        trainer = Trainer()
        for i in range(2):
            trainer.step(torch.randn(5, 4))
        """,
        "clip-after-step",
    ),
    case(
        "clipped_before_the_pass",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(3):
            loss = net(torch.randn(4, 3)).pow(2).mean()
            opt.zero_grad()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # CULPRIT
            loss.backward()
            opt.step()
        """,
        "clip-after-step",
        says=["unclipped"],
    ),
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
    case(
        "clipped_when_all_is_over",
        """
        import torch
        net = torch.nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            net(torch.ones(2, 3)).pow(2).mean().backward()
            opt.step()  # INSTEAD
            torch.nn.utils.clip_grad_norm_(net.parameters(), 0.5)  # CULPRIT
        """,
        "clip-after-step",
    ),
]
