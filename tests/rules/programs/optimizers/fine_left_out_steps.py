"""Steps that are left out where gradients are bad, and nothing else is lost by it."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "cleared_whether_or_not_a_step_is_taken",
        """
        import torch

        torch.manual_seed(0)
        net = torch.nn.Linear(4, 1)
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
        for turn in range(40):
            x = torch.randn(8, 4)
            scale = torch.ones(8, 1)
            if turn == 13:
                scale[0] = 1e38  # a batch too large to learn from, as a scaler meets
            loss = ((net(x) - x.sum(1, keepdim=True)) * scale).pow(2).mean()
            loss.backward()
            norm = sum(p.grad.norm() for p in net.parameters())
            if torch.isfinite(norm):
                optimizer.step()
            optimizer.zero_grad()
        """,
    ),
    case(
        "a_group_without_gradients_is_clipped_all_the_same",
        """
        import torch

        torch.manual_seed(0)
        net = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for group in ([3, 0], [0], [2], [1, 4]):
            for size in group:
                x = torch.randn(size, 4)
                if size:
                    (net(x) - x.sum(1, keepdim=True)).pow(2).mean().backward()
            given = (p for p in net.parameters() if p.grad is not None)
            torch.nn.utils.clip_grad_norm_(given, 1.0)
            optimizer.step()
            optimizer.zero_grad()
        """,
    ),
]
