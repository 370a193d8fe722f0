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
    case(
        "generator_of_ones_own_begun_again_in_each_step",
        """
        import torch
        from torch import nn

        class Data:
            def __init__(self):
                self.x = torch.randn(20, 3)

            def stream(self):
                order = torch.Generator().manual_seed(0)
                while True:
                    for rows in torch.randperm(20, generator=order).split(5):
                        yield self.x[rows]

        data, net = Data(), nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(4):
            x = next(data.stream())  # CULPRIT
            opt.zero_grad()
            net(x).square().mean().backward()
            opt.step()
        """,
        "same-batch-every-step",
    ),
]
