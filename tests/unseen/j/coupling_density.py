# kind: logarithm_taken_for_scale
import math

import torch
from torch import nn

torch.manual_seed(24)


def banana(n):
    x = torch.randn(n, 2)
    return torch.stack([x[:, 0], 0.5 * x[:, 1] + 0.6 * x[:, 0] ** 2 - 0.6], 1)


class Conditioner(nn.Module):
    """Maps the untouched half to the log scale and the shift of the other one."""

    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2))

    def forward(self, h):
        raw, shift = self.net(h).chunk(2, dim=-1)
        return 2 * torch.tanh(raw / 2), shift


class Coupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.flip = flip
        self.conditioner = Conditioner()

    def forward(self, x):
        a, b = x.chunk(2, dim=-1)
        if self.flip:
            a, b = b, a
        scale, shift = self.conditioner(a)
        b = b * scale + shift  # CULPRIT
        y = torch.cat((b, a) if self.flip else (a, b), dim=-1)
        return y, scale.squeeze(-1)


class Flow(nn.Module):
    def __init__(self, depth=4):
        super().__init__()
        self.steps = nn.ModuleList(Coupling(flip=k % 2 == 1) for k in range(depth))

    def forward(self, x):
        total = x.new_zeros(len(x))
        for step in self.steps:
            x, logdet = step(x)
            total = total + logdet
        return x, total

    def log_prob(self, x):
        z, logdet = self(x)
        base = -0.5 * (z ** 2).sum(1) - math.log(2 * math.pi)
        return base + logdet


@torch.no_grad()
def total_mass(flow, lo=-6.0, hi=6.0, n=161):
    """Numeric integral of the density; one for a proper distribution."""
    line = torch.linspace(lo, hi, n)
    grid = torch.cartesian_prod(line, line)
    return (flow.log_prob(grid).exp().sum() * (line[1] - line[0]) ** 2).item()


def fit(steps=150):
    flow = Flow()
    opt = torch.optim.Adam(flow.parameters(), lr=4e-3)
    for step in range(1, steps + 1):
        nll = -flow.log_prob(banana(256)).mean()
        opt.zero_grad()
        nll.backward()
        nn.utils.clip_grad_norm_(flow.parameters(), 5.0)
        opt.step()
        if step % 30 == 0:
            print(f"step {step} nll {nll.item():.3f} mass {total_mass(flow):.3f}")


fit()
