"""GV113: multi-view-inplace."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "split_relu_inplace",
        """
        import torch
        import torch.nn.functional as F
        h = torch.randn(2, 4, requires_grad=True) * 1
        parts = torch.split(h, 2, dim=1)
        outs = [F.relu(p, inplace=True) for p in parts]  # CULPRIT
        torch.cat(outs).sum().backward()
        """,
        "multi-view-inplace",
    ),
    case(
        "unbind_tuple_assign",
        """
        import torch
        h = torch.randn(3, 2, requires_grad=True) * 1
        rows = list(torch.unbind(h))
        rows[0][0] = 5.0  # CULPRIT
        """,
        "multi-view-inplace",
    ),
    case(
        "split_gates",
        """
        import torch

        x = torch.ones(4, requires_grad=True)
        h = x * 2
        a, b = h.split(2)
        a.mul_(3)  # CULPRIT
        (a.sum() + b.sum()).backward()
        """,
        "multi-view-inplace",
        says=["`a.mul_(3)`", "`h`"],
        related=["views made here"],
    ),
    case(
        "chunk_then_iadd",
        """
        import torch
        import torch.nn as nn

        class Glu(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(2, 4)

            def forward(self, x):
                value, gate = self.lin(x).chunk(2, dim=-1)
                gate.sigmoid_()  # CULPRIT
                return value * gate

        Glu()(torch.ones(1, 2)).sum().backward()
        """,
        "multi-view-inplace",
    ),
    case(
        "rows_of_a_loop",
        """
        import torch

        h = torch.ones(3, 2, requires_grad=True) * 1
        for i, row in enumerate(h):
            row += i  # CULPRIT
        h.sum().backward()
        """,
        "multi-view-inplace",
    ),
    case(
        "unbind_boxes",
        """
        import torch

        def shift(boxes, by):
            x0, y0, x1, y1 = boxes.unbind(-1)
            x0.sub_(by)  # CULPRIT
            x1.add_(by)
            return boxes

        deltas = torch.randn(2, 4, requires_grad=True)
        shift(deltas + 1, 0.5).sum().backward()
        """,
        "multi-view-inplace",
    ),
]

# Each can be mended in a second line, too: the one marked ``# INSTEAD``.
TWO_PLACES: list[Case] = [
    case(
        "query_of_three_chunks_scaled",
        """
        import torch
        qkv = torch.nn.Linear(2, 6)(torch.ones(1, 2))
        q, k, v = qkv.chunk(3, dim=-1)  # INSTEAD
        q *= 0.5  # CULPRIT
        """,
        "multi-view-inplace",
    ),
]
