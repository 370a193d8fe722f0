"""GV693: logarithm-taken-for-scale."""

from __future__ import annotations

from tests.rules.harness import Case, case

_VAE = """
import torch
from torch import nn
torch.manual_seed(0)
encoder, decoder = nn.Linear(4, 4), nn.Linear(2, 4)
x = torch.randn(8, 4)
mu, logvar = encoder(x).chunk(2, dim=1)
z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
VARIANCE
kl = 0.5 * (mu.square() + variance - LOGARITHM - 1).sum(1).mean()
((decoder(z) - x).square().sum(1).mean() + kl).backward()
"""

PROGRAMS: list[Case] = [
    case(
        "logarithm_of_a_variance_that_is_squared",
        _VAE.replace("VARIANCE", "variance = logvar**2  # CULPRIT").replace(
            "LOGARITHM", "torch.log(variance + 1e-20)"
        ),
        "logarithm-taken-for-scale",
        says=["torch.exp(0.5 * logvar)"],
    ),
    case(
        "logarithm_of_a_variance",
        _VAE.replace("VARIANCE", "variance = logvar.exp()").replace(
            "LOGARITHM", "torch.log(variance + 1e-20)"
        ),
    ),
]
