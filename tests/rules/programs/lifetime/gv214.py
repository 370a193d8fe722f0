"""GV214: requires-grad-of-nonleaf."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "switch_of_a_result",
        """
        import torch
        backbone = torch.nn.Linear(2, 2)
        features = backbone(torch.ones(1, 2))
        features.requires_grad = False  # CULPRIT
        """,
        "requires-grad-of-nonleaf",
        says=["`features`"],
    ),
    case(
        "switch_of_a_point_that_has_a_graph",
        """
        import torch
        t = torch.rand(4, requires_grad=True)
        x = 1 - torch.exp(-t)
        x.requires_grad = True  # CULPRIT
        """,
        "requires-grad-of-nonleaf",
        says=["Leave this line out"],
    ),
]
