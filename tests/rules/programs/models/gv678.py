"""GV678: same-batch-every-step."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "first_batch_in_every_step",
        """
        import torch
        from torch import nn
        import torch.nn.functional as F
        from torch.utils.data import DataLoader, TensorDataset

        data = TensorDataset(torch.randn(40, 4), torch.randn(40, 1))
        loader = DataLoader(data, batch_size=8)
        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)

        def batch():
            return next(iter(loader))  # CULPRIT

        for step in range(5):
            x, y = batch()
            loss = F.mse_loss(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "same-batch-every-step",
        says=["the same 8 samples in 5 steps", "the data has 40"],
    ),
]
