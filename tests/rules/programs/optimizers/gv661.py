"""GV661: accumulated-gradients-dropped."""

from __future__ import annotations

from tests.rules.harness import Case, case
from tests.rules.shared import script

PROGRAMS: list[Case] = [
    case(
        "cleared_in_the_inner_loop",
        script("""
for epoch in range(3):
    for x, y in batches[:2]:
        optimizer.zero_grad()  # CULPRIT
        (F.mse_loss(net(x), y) / 2).backward()
    optimizer.step()
"""),
        "accumulated-gradients-dropped",
    ),
    case(
        "cleared_between_two_losses",
        """
        import torch
        import torch.nn as nn
        encoder, decoder, probe = nn.Linear(6, 3), nn.Linear(3, 6), nn.Linear(3, 2)
        parts = nn.ModuleList([encoder, decoder, probe])
        opt = torch.optim.SGD(parts.parameters(), lr=0.1)
        for step in range(3):
            x = torch.randn(8, 6)
            z = torch.tanh(encoder(x))
            (decoder(z) - x).pow(2).mean().backward(retain_graph=True)
            opt.zero_grad()  # CULPRIT
            probe(z).pow(2).mean().backward()
            opt.step()
        """,
        "accumulated-gradients-dropped",
        says=["before another pass"],
    ),
]
