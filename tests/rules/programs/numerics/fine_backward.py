"""Programs whose gradients stay finite."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
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
    case(
        "small_weights_of_attention_in_half_precision",
        """
        import torch
        scores = torch.randn(64, 20, requires_grad=True)
        spread = scores * 8
        weight = torch.exp((spread - spread.amax(1, keepdim=True)).half()).float()
        weight = weight / weight.sum(1, keepdim=True)
        (weight * torch.randn(64, 20)).mean().backward()
        """,
    ),
]
