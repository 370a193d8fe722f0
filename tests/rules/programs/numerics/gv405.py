"""GV405: nan-std-single-element."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "std_of_the_last_batch",
        """
        import torch
        import torch.nn as nn
        net = nn.Linear(3, 2)
        for batch in torch.ones(5, 3).split(2):
            h = net(batch)
            h = (h - h.mean(0)) / (h.std(0) + 1e-5)  # CULPRIT
            h.sum().backward()
        """,
        "nan-std-single-element",
    ),
    case(
        "variance_of_one_sample",
        """
        import torch
        x = torch.randn(4, 1, requires_grad=True)
        torch.var(x, dim=1).mean().backward()  # CULPRIT
        """,
        "nan-std-single-element",
        says=["(4, 1)"],
    ),
]
