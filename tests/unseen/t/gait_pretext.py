"""Pretrains a gait encoder on masked sensor frames, then trains a linear probe for the walking surface.

TRUTH: The pretext task keeps its encoder as `student`, and `probe_state`
filters and strips the prefix `encoder.`, so what is left is empty;
`strict=False` keeps quiet about it and the probe sits on a frozen random
encoder, with clearly worse accuracy. The prefix has to be `student.`.
"""
import io
import math
from collections import OrderedDict

import torch
from torch import nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, channels=6, length=24, code=8):
        super().__init__()
        self.read = nn.Linear(channels * length, 64)
        self.code = nn.Linear(64, code)

    def forward(self, x):
        return self.code(torch.tanh(self.read(x.flatten(1))))


class MaskedFrames(nn.Module):
    """Pretext task: tell hidden frames from the visible ones."""

    def __init__(self, channels=6, length=24, code=8):
        super().__init__()
        self.student = Encoder(channels, length, code)
        self.decoder = nn.Sequential(nn.Linear(code, 64), nn.Tanh(), nn.Linear(64, channels * length))

    def forward(self, x, hide):
        seen = x.masked_fill(hide[:, None, :], 0.0)
        return self.decoder(self.student(seen)).view_as(x)

    def loss(self, x, g):
        hide = torch.rand(len(x), x.shape[-1], generator=g) < 0.4
        error = (self(x, hide) - x).square().mean(1)
        return error[hide].mean()


class Probe(nn.Module):
    def __init__(self, surfaces, **shape):
        super().__init__()
        self.encoder = Encoder(**shape)
        self.encoder.requires_grad_(False)
        self.linear = nn.Linear(8, surfaces)

    def forward(self, x):
        return self.linear(self.encoder(x))


def save(module):
    memory = io.BytesIO()
    torch.save({"model": module.state_dict(), "version": 3}, memory)
    return memory.getvalue()


def probe_state(checkpoint):
    state = torch.load(io.BytesIO(checkpoint), weights_only=True)["model"]
    prefix = "encoder."  # CULPRIT
    return OrderedDict((k.replace(prefix, "encoder.", 1), v) for k, v in state.items() if k.startswith(prefix))


def gait(n, seed):
    """Six sensors that see mixtures of two hidden waves; the surface sets the phase between them."""
    g = torch.Generator().manual_seed(seed)
    mix = torch.randn(6, 2, generator=torch.Generator().manual_seed(99))
    surface = torch.randint(0, 4, (n,), generator=g)
    t = torch.arange(24) * (2 * math.pi / 12)
    start = 0.35 * torch.randn(n, 1, generator=g)
    phase = start + surface[:, None] * (math.pi / 2)
    waves = torch.stack([torch.sin(t + start), torch.sin(2 * t + phase)], dim=1)
    x = torch.einsum("cw,nwt->nct", mix, waves)
    return x + 1.6 * torch.randn(n, 6, 24, generator=g), surface


def pretrain(task, x, steps, g):
    opt = torch.optim.Adam(task.parameters(), lr=2e-3)
    for step in range(steps):
        idx = torch.randint(0, len(x), (64,), generator=g)
        loss = task.loss(x[idx], g)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 100 == 0:
            print(f"pretext {step:4d} loss {loss.item():.4f}")


def train_probe(probe, x, y, steps):
    opt = torch.optim.Adam(probe.linear.parameters(), lr=2e-2)
    for step in range(steps):
        loss = F.cross_entropy(probe(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 0:
            print(f"probe {step:4d} loss {loss.item():.4f}")


def main():
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(5)
    task = MaskedFrames()
    pretrain(task, gait(2000, 1)[0], 401, g)
    probe = Probe(surfaces=4)
    probe.load_state_dict(probe_state(save(task)), strict=False)
    train_probe(probe, *gait(120, 2), 151)
    probe.eval()
    with torch.no_grad():
        x, y = gait(500, 3)
        print(f"probe accuracy {probe(x).argmax(1).eq(y).float().mean():.3f}")


if __name__ == "__main__":
    main()
