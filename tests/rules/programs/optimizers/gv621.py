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
]
