"""GV635: bad-gradients-stay."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "cleared_only_with_a_step",
        """
        import torch

        torch.manual_seed(0)
        net = torch.nn.Linear(4, 1)
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
        for turn in range(40):
            x = torch.randn(8, 4)
            if turn == 13:
                x[0, 0] = float("nan")
            loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
            (loss / 2).backward()
            if turn % 2:
                norm = torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                if torch.isfinite(norm):
                    optimizer.step()
                    optimizer.zero_grad()  # CULPRIT
        """,
        "bad-gradients-stay",
        related=["last step taken here"],
    ),
]
