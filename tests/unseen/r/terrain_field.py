"""Pretrain a Fourier-feature height field, then rebuild it from its checkpoint on the meta device and fine-tune.

TRUTH: the frequency matrix is a plain attribute, so to_empty and load_state_dict pass it by and it stays on the meta device; RuntimeError about tensors on meta and cpu in the fine-tuning forward; register it as a buffer.
"""
import io
import math

import torch
import torch.nn.functional as F
from torch import nn


class HeightField(nn.Module):
    def __init__(self, n_freq=24, width=48, scale=1.5):
        super().__init__()
        self.freqs = torch.randn(2, n_freq) * scale  # CULPRIT
        self.net = nn.Sequential(nn.Linear(2 * n_freq, width), nn.SiLU(), nn.Linear(width, 1))

    def forward(self, xy):
        phase = 2 * math.pi * xy @ self.freqs
        return self.net(torch.cat([phase.sin(), phase.cos()], dim=1)).squeeze(1)


def survey(n, gen, erosion=0.0):
    xy = torch.rand(n, 2, generator=gen)
    height = torch.sin(6 * xy[:, 0]) * torch.cos(5 * xy[:, 1])
    height = height - erosion * torch.exp(-((xy - 0.5) ** 2).sum(1) / 0.02)
    return xy, height


def fit(field, gen, steps, lr, **kw):
    opt = torch.optim.Adam(field.parameters(), lr=lr)
    for step in range(steps):
        xy, height = survey(256, gen, **kw)
        loss = F.mse_loss(field(xy), height)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 0 or step == steps - 1:
            print(f"  step {step:3d} mse {loss.item():.5f}")


def rebuild(blob):
    """Build without allocating first, then fill from the checkpoint."""
    with torch.device("meta"):
        field = HeightField()
    field.to_empty(device="cpu")
    blob.seek(0)
    field.load_state_dict(torch.load(blob, weights_only=True))
    return field


def main():
    torch.manual_seed(20)
    gen = torch.Generator().manual_seed(20)
    field = HeightField()
    print("first survey")
    fit(field, gen, 150, 5e-3)
    blob = io.BytesIO()
    torch.save(field.state_dict(), blob)
    print("second survey")
    fit(rebuild(blob), gen, 100, 2e-3, erosion=0.5)


if __name__ == "__main__":
    main()
