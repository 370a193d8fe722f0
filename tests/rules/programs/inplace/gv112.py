"""GV112: leaf-view-inplace."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "emb_row",
        """
        import torch
        import torch.nn as nn
        emb = nn.Embedding(3, 2)
        emb.weight[0].zero_()  # CULPRIT
        """,
        "leaf-view-inplace",
    ),
    case(
        "row_of_a_leaf",
        """
        import torch

        weight = torch.zeros(3, 2, requires_grad=True)
        weight[0] = 1.0  # CULPRIT
        """,
        "leaf-view-inplace",
        says=["`weight", "leaf"],
    ),
    case(
        "slice_of_a_bias",
        """
        import torch
        import torch.nn as nn

        lstm_bias = nn.Linear(4, 8).bias
        n = lstm_bias.size(0)
        forget = lstm_bias[n // 4 : n // 2]
        forget.fill_(1.0)  # CULPRIT
        """,
        "leaf-view-inplace",
        related=["view made here"],
    ),
    case(
        "flat_view_of_a_leaf",
        """
        import torch

        x = torch.randn(2, 2, requires_grad=True)
        y = x * 2
        flat = x.view(-1)
        flat += 1  # CULPRIT
        """,
        "leaf-view-inplace",
    ),
]
