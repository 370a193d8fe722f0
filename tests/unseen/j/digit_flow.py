# kind: gradcheck_nondeterministic
"""Affine coupling flow on quantised two-dimensional readings, with a self-test before training."""
import math

import torch
from torch import nn
from torch.autograd import gradcheck


class Coupling(nn.Module):
    """Scales and shifts one half of the variables with functions of the other half."""

    def __init__(self, dim, hidden, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(dim // 2, hidden), nn.Tanh(), nn.Linear(hidden, dim))

    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        if self.flip:
            a, b = b, a
        log_scale, shift = self.net(a).chunk(2, dim=1)
        log_scale = torch.tanh(log_scale)
        b = b * log_scale.exp() + shift
        out = torch.cat([b, a] if self.flip else [a, b], dim=1)
        return out, log_scale.sum(dim=1)


class Dequantize(nn.Module):
    """Spreads integer readings evenly over their bins, then centres and scales them."""

    def __init__(self, levels):
        super().__init__()
        self.levels = levels

    def forward(self, x, spread=True):
        offset = torch.rand_like(x) if spread else 0.5
        z = ((x + offset) / self.levels - 0.5) * 6
        return z, x.new_full((len(x),), x.size(1) * math.log(6 / self.levels))


class Flow(nn.Module):
    def __init__(self, dim=2, hidden=32, layers=4, levels=32):
        super().__init__()
        self.entry = Dequantize(levels)
        self.layers = nn.ModuleList(Coupling(dim, hidden, flip=bool(i % 2)) for i in range(layers))

    def log_prob(self, x, spread=True):
        z, log_det = self.entry(x, spread)
        for layer in self.layers:
            z, delta = layer(z)
            log_det = log_det + delta
        base = -0.5 * (z.pow(2) + math.log(2 * math.pi)).sum(dim=1)
        return base + log_det


def readings(n, levels=32):
    """Two crescents on a grid of integers."""
    side = torch.rand(n) < 0.5
    angle = math.pi * torch.rand(n)
    x = torch.where(side, angle.cos(), 1 - angle.cos())
    y = torch.where(side, angle.sin(), 0.5 - angle.sin())
    points = torch.stack([(x + 1.3) / 3.6, (y + 0.9) / 2.3], dim=1) + 0.02 * torch.randn(n, 2)
    return (points * levels).floor().clamp(0, levels - 1)


def self_test():
    """Compares the gradients of a small flow with finite differences."""
    flow = Flow(hidden=6, layers=2).double().eval()
    x = readings(3).double().requires_grad_()
    ok = gradcheck(flow.log_prob, (x,))  # CULPRIT
    print("gradients of the flow agree:", ok)


def train(epochs=8, n=1200):
    data, test = readings(n), readings(400)
    flow = Flow()
    opt = torch.optim.Adam(flow.parameters(), lr=4e-3)
    for epoch in range(epochs):
        flow.train()
        for idx in torch.randperm(n).split(100):
            loss = -flow.log_prob(data[idx]).mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(flow.parameters(), 5.0)
            opt.step()
        flow.eval()
        with torch.no_grad():
            nll = -flow.log_prob(test).mean().item()
        print(f"epoch {epoch} train {loss.item():.3f} test {nll:.3f} nats")


if __name__ == "__main__":
    torch.manual_seed(0)
    self_test()
    train()
