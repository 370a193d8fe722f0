"""GV317: sample-cuts-gradient."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "sampled_latent",
        """
        import torch
        from torch import nn

        encoder, decoder = nn.Linear(4, 2), nn.Linear(2, 4)
        opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
        for step in range(2):
            x = torch.randn(5, 4)
            z = torch.distributions.Normal(encoder(x), 1.0).sample()  # CULPRIT
            loss = (decoder(z) - x).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
        "sample-cuts-gradient",
        says=["bias"],
    ),
]
