"""GV626: scaled-gradients-applied."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "optimizer_steps_past_the_scaler",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        for step in range(2):
            opt.zero_grad()
            loss = net(torch.ones(2, 3)).pow(2).mean() * 1e-6
            scaler.scale(loss).backward()
            opt.step()  # CULPRIT
        """,
        "scaled-gradients-applied",
        says=["1,024 times too large"],
    ),
    case(
        "overflows_that_a_step_past_the_scaler_applies",
        """
        import torch
        import torch.nn as nn
        net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0**24)
        for x in torch.randn(3, 16, 8):
            opt.zero_grad()
            with torch.autocast("cpu", dtype=torch.float16):
                loss = (net(x).float() - x).square().sum(1).mean()
            scaler.scale(loss).backward()
            opt.step()  # CULPRIT
        """,
        "scaled-gradients-applied",
        engines=("torch",),
    ),
]
