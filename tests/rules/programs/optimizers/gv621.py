"""GV621: parameters-in-no-optimizer."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "decoder_left_out_of_the_optimizer",
        """
        import torch
        import torch.nn as nn
        encoder, decoder = nn.Linear(4, 2), nn.Linear(2, 4)
        opt = torch.optim.Adam(encoder.parameters())  # CULPRIT
        for step in range(3):
            x = torch.randn(6, 4)
            loss = (decoder(torch.tanh(encoder(x))) - x).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "parameters-in-no-optimizer",
        says=["`decoder.weight`", "them"],
        related=["created here"],
    ),
    case(
        "weights_of_a_loss_left_out",
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        torch.manual_seed(0)
        class Uncertainty(nn.Module):
            def __init__(self):
                super().__init__()
                self.log_vars = nn.Parameter(torch.zeros(2))
            def forward(self, a, b):
                both = torch.stack([a, b])
                return (torch.exp(-self.log_vars) * both + self.log_vars).sum()
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        criterion = Uncertainty()
        opt = torch.optim.Adam(net.parameters())  # CULPRIT
        for step in range(3):
            out = net(torch.randn(6, 4))
            first = F.mse_loss(out[:, 0], torch.randn(6))
            second = F.cross_entropy(out[:, 1:], torch.randint(0, 2, (6,)))
            loss = criterion(first, second)
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "parameters-in-no-optimizer",
        says=["`criterion.log_vars` gets a gradient"],
    ),
]
