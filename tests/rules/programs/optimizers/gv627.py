"""GV627: clip-before-unscale."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "clipping_forgets_the_scale",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        for step in range(2):
            opt.zero_grad()
            loss = net(torch.ones(2, 3)).pow(2).mean()
            scaler.scale(loss / 2).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # CULPRIT
            scaler.step(opt)
            scaler.update()
        """,
        "clip-before-unscale",
        says=["`scaler.unscale_(opt)`"],
    ),
    case(
        "clipped_by_an_object_without_the_scaler",
        """
        import torch
        import torch.nn as nn

        class Clip:
            def after_backward(self, trainer):
                nn.utils.clip_grad_norm_(trainer.net.parameters(), 1.0)  # CULPRIT

        class Trainer:
            def __init__(self):
                self.net = nn.Linear(3, 1)
                self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
                self.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)

            def step(self, x, clip):
                self.opt.zero_grad()
                self.scaler.scale(self.net(x).square().mean()).backward()
                clip.after_backward(self)
                self.scaler.step(self.opt)
                self.scaler.update()

        trainer, clip = Trainer(), Clip()
        for x in torch.randn(3, 4, 3):
            trainer.step(x, clip)
        """,
        "clip-before-unscale",
    ),
]
