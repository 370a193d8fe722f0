"""GV402: nan-sqrt-of-zero."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "norm_by_hand",
        """
        import torch
        import torch.nn as nn
        def norm(v):
            return torch.sqrt((v * v).sum(-1))  # CULPRIT
        net = nn.Linear(2, 3, bias=False)
        norm(net(torch.zeros(1, 2))).sum().backward()
        """,
        "nan-sqrt-of-zero",
    ),
    case(
        "power_one_half",
        """
        import torch
        x = torch.zeros(2, requires_grad=True)
        loss = (x ** 2).sum() ** 0.5  # CULPRIT
        loss.backward()
        """,
        "nan-sqrt-of-zero",
    ),
    case(
        "root_mean_square_error_of_a_perfect_fit",
        """
        import torch
        import torch.nn.functional as F
        pred = torch.ones(3, requires_grad=True)
        loss = torch.sqrt(F.mse_loss(pred, torch.ones(3)))  # CULPRIT
        loss.backward()
        """,
        "nan-sqrt-of-zero",
    ),
    case(
        "deviation_by_hand",
        """
        import torch
        x = torch.ones(4, requires_grad=True)
        var = (x - x.mean()).pow(2).mean()
        std = var.sqrt()  # CULPRIT
        std.backward()
        """,
        "nan-sqrt-of-zero",
    ),
    case(
        "anomaly_mode_stops_the_pass",
        """
        import torch
        torch.autograd.set_detect_anomaly(True)
        x = torch.zeros(3, requires_grad=True)
        norm = (x ** 2).sum().sqrt()  # CULPRIT
        norm.backward()
        """,
        "nan-sqrt-of-zero",
    ),
    case(
        "the_third_batch",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(2, 2, bias=False)
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        for step in range(5):
            x = torch.ones(1, 2) * (step != 2)
            out = net(x)
            loss = (out ** 2).sum().sqrt()  # CULPRIT
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "nan-sqrt-of-zero",
        says=["made 1 parameter non-finite"],
    ),
    case(
        "distance_that_two_terms_weigh_with_zero",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        net = nn.Linear(3, 2)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        left = torch.randn(4, 3)
        right = torch.cat([left[:1], torch.randn(3, 3)])
        same = torch.tensor([1.0, 0.0, 1.0, 0.0])
        a, b = net(left), net(right)
        d = (a - b).pow(2).sum(dim=1).sqrt()  # CULPRIT
        near = same * d.pow(2)
        far = (1 - same) * torch.clamp(1.0 - d, min=0).pow(2)
        (near + far).mean().backward()
        opt.step()
        """,
        "nan-sqrt-of-zero",
    ),
    case(
        "spread_of_groups_of_one",
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        first, last = nn.Linear(3, 4), nn.Linear(4, 1)
        opt = torch.optim.Adam([*first.parameters(), *last.parameters()])
        group = torch.tensor([0, 0, 0, 1])
        counts = torch.bincount(group).float().unsqueeze(1)
        for step in range(3):
            x = first(torch.randn(4, 3))
            mean = torch.zeros(2, 4).index_add_(0, group, x) / counts
            x = x - mean[group]
            var = torch.zeros(2, 4).index_add_(0, group, x * x) / counts
            x = x / (var.sqrt()[group] + 1e-5)  # CULPRIT
            opt.zero_grad()
            last(x).square().mean().backward()
            opt.step()
        """,
        "nan-sqrt-of-zero",
        says=["what the root is taken of is 0"],
    ),
]
