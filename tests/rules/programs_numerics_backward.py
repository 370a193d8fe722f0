"""Programs whose forward pass is finite and whose gradients are not."""

from __future__ import annotations

from tests.rules.harness import case

WRONG = [
    # ---- branches not taken ---------------------------------------------------------
    case(
        "log_in_where",
        """
        import torch
        x = torch.tensor([0.0, 1.0, 2.0], requires_grad=True)
        y = torch.where(x > 0, torch.log(x), torch.zeros_like(x))  # CULPRIT
        y.sum().backward()
        """,
        "nan-where-unselected-branch",
        says=["LogBackward0", "WhereBackward0", "index [0]"],
        related=["selected here"],
    ),
    case(
        "sqrt_before_where",
        """
        import torch
        x = torch.tensor([0.0, 4.0], requires_grad=True)
        root = x.sqrt()  # CULPRIT
        safe = x + 1
        y = torch.where(x > 0, root, safe)
        y.sum().backward()
        """,
        "nan-where-unselected-branch",
    ),
    case(
        "quotient_in_where",
        """
        import torch
        def sinc(x):
            ratio = torch.sin(x) / x  # CULPRIT
            return torch.where(x == 0, torch.ones_like(x), ratio)
        x = torch.tensor([0.0, 1.0], requires_grad=True)
        sinc(x).sum().backward()
        """,
        "nan-where-unselected-branch",
    ),
    case(
        "root_masked_afterwards",
        """
        import torch
        x = torch.tensor([0.0, 4.0], requires_grad=True)
        y = (x ** 0.5).masked_fill(x == 0, 0.0)  # CULPRIT
        y.sum().backward()
        """,
        "nan-where-unselected-branch",
    ),
    case(
        "exp_in_where",
        """
        import torch
        x = torch.tensor([-1.0, 200.0], requires_grad=True)
        elu = torch.where(x > 0, x, x.exp() - 1)  # CULPRIT
        elu.sum().backward()
        """,
        "nan-where-unselected-branch",
    ),
    case(
        "valid_entries_indexed",
        """
        import torch
        x = torch.tensor([0.0, 4.0], requires_grad=True)
        y = torch.sqrt(x)  # CULPRIT
        y[x > 0].sum().backward()
        """,
        "nan-where-unselected-branch",
    ),
    case(
        "log_clamped_afterwards",
        """
        import torch
        p = torch.tensor([0.0, 0.5], requires_grad=True)
        loss = -p.log().clamp(min=-100).sum()  # CULPRIT
        loss.backward()
        """,
        "nan-where-unselected-branch",
    ),
    # ---- roots and norms ------------------------------------------------------------
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
        "pairwise_distances",
        """
        import torch
        x = torch.randn(4, 2, requires_grad=True)
        d = (x[:, None] - x[None]).pow(2).sum(-1).sqrt()  # CULPRIT
        d.sum().backward()
        """,
        "nan-pairwise-distance-diagonal",
        says=["diagonal"],
    ),
    case(
        "pairwise_distances_masked",
        """
        import torch
        x = torch.randn(4, 2, requires_grad=True)
        diff = x.unsqueeze(0) - x.unsqueeze(1)
        sq = (diff ** 2).sum(dim=-1)
        dist = sq ** 0.5  # CULPRIT
        loss = (dist * (1 - torch.eye(4))).sum()
        loss.backward()
        """,
        "nan-pairwise-distance-diagonal",
    ),
    # ---- edges of domains -----------------------------------------------------------
    case(
        "angle_of_parallel_vectors",
        """
        import torch
        a = torch.tensor([1.0, 0.0], requires_grad=True)
        b = torch.tensor([1.0, 0.0])
        cos = (a * b).sum() / (a.norm() * b.norm())
        angle = torch.acos(cos)  # CULPRIT
        angle.backward()
        """,
        "inf-acos-at-boundary",
    ),
    case(
        "asin_at_one",
        """
        import torch
        s = torch.tensor([-1.0, 0.3], requires_grad=True)
        s.asin().sum().backward()  # CULPRIT
        """,
        "inf-acos-at-boundary",
    ),
    # ---- the rest -------------------------------------------------------------------
    case(
        "sigmoid_by_hand",
        """
        import torch
        x = torch.tensor([-200.0, 1.0], requires_grad=True)
        y = 1 / (1 + torch.exp(-x))  # CULPRIT
        y.sum().backward()
        """,
        "nan-exp-overflow",
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
        "quotient_in_a_backward_of_the_user",
        """
        import torch
        class Norm(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                n = x.norm()
                ctx.save_for_backward(x, n)
                return n.clone()
            @staticmethod
            def backward(ctx, g):
                x, n = ctx.saved_tensors
                return g * x / n  # CULPRIT
        x = torch.zeros(3, requires_grad=True)
        Norm.apply(x).backward()
        """,
        "nan-zero-division",
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
        says=["wrote it into 1 parameter"],
    ),
]

FINE = [
    case(
        "double_where",
        """
        import torch
        x = torch.tensor([0.0, 1.0], requires_grad=True)
        safe = torch.where(x > 0, x, torch.ones_like(x))
        y = torch.where(x > 0, torch.log(safe), torch.zeros_like(x))
        y.sum().backward()
        """,
    ),
    case(
        "library_norms_at_zero",
        """
        import torch
        x = torch.zeros(3, requires_grad=True)
        (x.norm() + torch.linalg.vector_norm(x)).backward()
        """,
    ),
    case(
        "cdist_to_itself",
        """
        import torch
        x = torch.randn(4, 2, requires_grad=True)
        torch.cdist(x, x).sum().backward()
        """,
    ),
    case(
        "root_with_a_constant",
        """
        import torch
        x = torch.zeros(3, requires_grad=True)
        ((x ** 2).sum() + 1e-12).sqrt().backward()
        """,
    ),
    case(
        "acos_clamped",
        """
        import torch
        c = torch.tensor([1.0, 0.5], requires_grad=True)
        torch.acos(c.clamp(-1 + 1e-6, 1 - 1e-6)).sum().backward()
        """,
    ),
    case(
        "atan2_at_the_origin",
        """
        import torch
        y = torch.tensor([0.0, 1.0], requires_grad=True)
        torch.atan2(y, torch.tensor([0.0, 1.0])).sum().backward()
        """,
    ),
    case(
        "loss_scaler_skips_a_step",
        """
        import torch
        w = torch.ones(2, requires_grad=True)
        opt = torch.optim.SGD([w], lr=0.1)
        for x in (torch.zeros(2), torch.ones(2)):
            opt.zero_grad()
            (w * x).pow(2).sum().sqrt().backward()
            if torch.isfinite(w.grad).all():
                opt.step()
        """,
    ),
]
