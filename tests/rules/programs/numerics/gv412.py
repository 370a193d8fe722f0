"""GV412: half-precision-underflow."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "a_small_factor_in_half",
        """
        import torch
        w = torch.ones(4, dtype=torch.float16, requires_grad=True)
        h = w * 1e-4  # CULPRIT
        loss = (h * 1e-4).sum()
        loss.backward()
        """,
        "half-precision-underflow",
    ),
    case(
        "a_small_loss_cast_back_to_half",
        """
        import torch
        w = torch.ones(4, dtype=torch.float16, requires_grad=True)
        h = (w * 2).float()  # CULPRIT
        loss = (h * 1e-9).sum()
        loss.backward()
        """,
        "half-precision-underflow",
    ),
    case(
        "a_small_difference_in_half_that_is_zero_in_places",
        """
        import torch
        w = torch.arange(8.0, requires_grad=True)
        gap = torch.relu(w.half() - 3)
        small = gap * 1e-6  # CULPRIT
        (small.abs().mean() * 0.1).backward()
        """,
        "half-precision-underflow",
    ),
    case(
        "weights_too_small_for_half_and_a_bias_of_zeros",
        """
        import torch
        net = torch.nn.Linear(4, 4).half()
        with torch.no_grad():
            net.weight.fill_(1e-5)
            net.bias.zero_()
        x = torch.ones(2, 4, dtype=torch.float16, requires_grad=True)
        y = net(x)  # CULPRIT
        (y * 1e-4).sum().backward()
        """,
        "half-precision-underflow",
    ),
    case(
        "rectified_scores_under_autocast",
        """
        import torch
        net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())
        with torch.autocast("cpu", dtype=torch.float16):
            scores = net(torch.randn(8, 4)).float()  # CULPRIT
        (scores.mean() * 1e-7).backward()
        """,
        "half-precision-underflow",
    ),
    case(
        "small_gradients_beside_a_scaler_that_is_off",
        """
        import torch
        from dataclasses import dataclass
        @dataclass
        class Settings:
            device: str = "cpu"
            unit: float = 1e-4
        def train(cfg):
            net = torch.nn.Linear(4, 3)
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            on = cfg.device == "cuda"  # CULPRIT
            scaler = torch.amp.GradScaler(cfg.device, enabled=on)
            for step in range(3):
                with torch.autocast(cfg.device, dtype=torch.float16):
                    out = net(torch.randn(8, 4)) * cfg.unit
                loss = out.float().square().mean() * 1e-3
                opt.zero_grad()
                scaler.scale(loss).backward()
                scaler.step(opt)
                scaler.update()
        train(Settings())
        """,
        "half-precision-underflow",
        says=["leaves the scaler switched off"],
    ),
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
    case(
        "two_small_factors_in_half_precision",
        """
        import torch
        weight = torch.ones(1, dtype=torch.float16, requires_grad=True)
        small = weight * 1e-4  # CULPRIT
        loss = (small * 1e-4).sum()  # INSTEAD
        loss.backward()
        """,
        "half-precision-underflow",
        says=["too small for float16"],
    ),
]
