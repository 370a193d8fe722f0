"""Text that several programs have in common."""

from __future__ import annotations

MOMENTUM = """
        import torch
        from torch import nn
        net, velocity = nn.Linear(3, 1), {}
        x = torch.randn(6, 3)
        for step in range(3):
            net.zero_grad(set_to_none=False)
            (net(x) - 1).square().mean().backward()
            for p in net.parameters():
                if p in velocity:
                    velocity[p].mul_(0.9).add_(p.grad)
                else:
                    velocity[p] = KEPT
                p.data.sub_(0.1 * velocity[p])
"""

STEPS = """
        for step in range(3):
            optimizer.zero_grad()
            loss = step_loss()
            loss.backward()
            optimizer.step()
"""

NET = """
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
batches = [(torch.randn(6, 4), torch.randn(6, 2)) for _ in range(4)]
"""


def script(text: str) -> str:
    """Return a script that begins with :data:`NET`."""
    return NET.lstrip() + text.lstrip("\n")
