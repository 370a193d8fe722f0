"""GV692: noise-drawn-twice."""

from __future__ import annotations

from tests.rules.harness import Case, case

_DENOISING = """
import torch
from torch import nn

def noisy(x, noise=None):
    noise = torch.randn_like(x) if noise is None else noise
    return 0.8 * x + 0.6 * noise

net = nn.Linear(3, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    x = torch.ones(4, 3)
    noise = torch.randn_like(x)
    seen = GIVEN
    opt.zero_grad()
    (net(seen) - noise).square().mean().backward()
    opt.step()
"""

PROGRAMS: list[Case] = [
    case(
        "noise_of_another_draw_in_the_loss",
        _DENOISING.replace("GIVEN", "noisy(x)  # CULPRIT"),
        "noise-drawn-twice",
        says=["Draw once"],
    ),
    case("one_noise", _DENOISING.replace("GIVEN", "noisy(x, noise)")),
]
