"""Rows that are copied within a tensor, and none is lost."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "a_shift_a_fill_and_a_copy",
        """
        import torch

        torch.manual_seed(0)
        window = torch.randn(6, 4)
        for _ in range(4):
            for row in range(5):
                window[row] = window[row + 1]
            window[5] = torch.randn(4)
        gaps = torch.randn(6, 4)
        for row in (2, 3, 5):
            gaps[row] = gaps[row - 1]
        order = torch.tensor([3, 0, 5, 1, 2, 4])
        out = torch.empty_like(window)
        for row, original in enumerate(order.tolist()):
            out[original] = window[row]
        net = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (net(out) - gaps.sum(1, keepdim=True)).pow(2).mean().backward()
            optimizer.step()
        """,
    ),
]
