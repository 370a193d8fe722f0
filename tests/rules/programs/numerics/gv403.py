"""GV403: nan-pairwise-distance-diagonal."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
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
    case(
        "factorized_one_step_after_the_root",
        """
        import torch
        torch.manual_seed(0)
        x = torch.randn(5, 2)
        scale = torch.ones(2, requires_grad=True)
        opt = torch.optim.Adam([scale], lr=0.1)
        for _ in range(3):
            diff = (x[:, None] - x[None]) / scale
            dist = diff.pow(2).sum(-1).sqrt()  # CULPRIT
            kernel = torch.exp(-dist) + 0.1 * torch.eye(5)
            chol = torch.linalg.cholesky(kernel)
            loss = chol.diagonal().log().sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "nan-pairwise-distance-diagonal",
        says=["was given NaN, and raised"],
        engines=("torch",),
    ),
]
