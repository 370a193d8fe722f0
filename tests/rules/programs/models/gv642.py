"""GV642: call-refused."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "output_and_state_taken_for_one_tensor",
        """
        import torch
        from torch import nn
        rnn, head = nn.GRU(3, 4), nn.Linear(4, 1)
        hidden = rnn(torch.randn(5, 2, 3))  # CULPRIT
        head(hidden).sum().backward()
        """,
        "call-refused",
        related=["takes the tuple"],
    ),
    case(
        "row_out_of_range",
        """
        import torch
        x = torch.ones(3, 2, requires_grad=True)
        for row in range(4):
            y = x[row] * 2  # CULPRIT
        """,
        "call-refused",
    ),
    case(
        "batch_as_number",
        """
        import torch
        losses = torch.ones(3, requires_grad=True) * 2
        def report(values):
            return values.item()  # CULPRIT
        print(report(losses))
        """,
        "call-refused",
    ),
]
