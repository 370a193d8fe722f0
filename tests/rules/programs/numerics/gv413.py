"""GV413: half-precision-overflow."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "a_sum_of_squares_in_half",
        """
        import torch
        h = torch.full((8,), 300.0, dtype=torch.float16, requires_grad=True)
        loss = (h * h).sum()  # CULPRIT
        loss.backward()
        """,
        "half-precision-overflow",
    ),
    case(
        "scores_too_large_for_half",
        """
        import torch
        q = torch.full((2, 4), 200.0, dtype=torch.float16)
        k = torch.full((2, 4), 200.0, dtype=torch.float16, requires_grad=True)
        scores = q @ k.T  # CULPRIT
        torch.softmax(scores, -1)[:, 0].sum().backward()
        """,
        "half-precision-overflow",
    ),
    case(
        "a_scale_that_begins_too_large",
        """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0**22)
        for x in torch.randn(12, 16, 8):
            opt.zero_grad()
            with torch.autocast("cpu", dtype=torch.float16):
                loss = (net(x).float() - x).square().sum(1).mean()
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            scaler.step(opt)
            scaler.update()
        assert scaler.get_scale() < 2.0**22
        """,
        engines=("torch",),
    ),
    case(
        "an_energy_that_is_divided_by",
        """
        import torch
        from torch import nn
        h = torch.full((4, 8), 300.0, dtype=torch.float16, requires_grad=True)
        gain = nn.Parameter(torch.ones(8))
        energy = (h * h).sum(-1, keepdim=True)  # CULPRIT
        scaled = h * torch.rsqrt(energy / 8 + 1e-5) * gain
        (scaled.float() - 1).square().mean().backward()
        """,
        "half-precision-overflow",
        says=["made zeros of all of it"],
    ),
    case(
        "weights_that_vanish_far_away_in_half",
        """
        import torch
        points = torch.tensor([0.0, 1.0, 400.0], dtype=torch.float16)
        points.requires_grad_()
        apart = points[:, None] - points
        near = 1 / (1 + apart * apart)
        near.float().sum().backward()
        """,
    ),
]
