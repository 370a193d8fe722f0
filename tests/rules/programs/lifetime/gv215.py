"""GV215: retain-grad-without-graph."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "retain_grad_of_detached",
        """
        import torch
        net = torch.nn.Linear(2, 2)
        h = net(torch.ones(1, 2)).detach()  # CULPRIT
        h.retain_grad()
        """,
        "retain-grad-without-graph",
        says=["ask only `if h.requires_grad`"],
    ),
]
