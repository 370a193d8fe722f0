"""Grades ore from hyperspectral bands: a big net finds the bands that matter, a small one is trained on these.
"""
from dataclasses import dataclass, field
from typing import List

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class BandStats:
    """Adds up |gradient| of every band over batches."""

    total: torch.Tensor = None
    count: int = 0
    log: List[float] = field(default_factory=list)

    def __call__(self, grad):
        self.count += 1
        size = grad.abs().mean(0)
        self.total = size if self.total is None else self.total + size
        self.log.append(size.max().item())

    def best(self, k):
        return (self.total / self.count).topk(k).indices.sort().values


class Grader(nn.Module):
    def __init__(self, bands, mean, std, width=48):
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("std", std)
        self.net = nn.Sequential(nn.Linear(bands, width), nn.GELU(), nn.Linear(width, 1))
        self.observer = None

    def forward(self, radiance):
        z = radiance * self.gain(radiance)
        z.sub_(self.mean).div_(self.std)
        if self.observer is not None:
            z.register_hook(self.observer)
        return self.net(z).squeeze(-1)

    @staticmethod
    def gain(radiance):
        """Undoes the illumination, known from the white reference in band 0."""
        return 1.0 / radiance[:, :1].clamp_min(0.1)


class Drill:
    def __init__(self, gen, bands=40, useful=(7, 18, 29)):
        self.gen, self.bands, self.useful = gen, bands, list(useful)
        spread = torch.rand(bands, generator=gen) * 0.05 + 0.001
        spread[self.useful] = torch.tensor([0.5, 0.4, 0.6])
        self.spread = spread

    def cores(self, n):
        z = torch.randn(n, self.bands, generator=self.gen)
        a, b, c = z[:, self.useful].unbind(-1)
        grade = a + 0.8 * b * c + 0.5 * c
        light = 0.7 + 0.6 * torch.rand(n, 1, generator=self.gen)
        shade = 1.0 + z * self.spread
        shade[:, 0] = 1.0
        return light * shade, grade + 0.1 * torch.randn(n, generator=self.gen)


def statistics(radiance):
    level = radiance / radiance[:, :1]
    return level.mean(0), level.std(0).clamp_min(1e-4)


def train(model, x, y, steps, gen, label):
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.05)
    for step in range(steps):
        idx = torch.randint(len(x), (128,), generator=gen)
        loss = F.mse_loss(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 150 == 0:
            print(f"{label}  step {step:3d}  mse {loss.item():.4f}")
    return model


def observe(model, x, y):
    stats = BandStats()
    model.observer = stats
    for part in torch.arange(len(x)).split(256):
        model.zero_grad()
        F.mse_loss(model(x[part].requires_grad_()), y[part], reduction="sum").backward()
    model.observer = None
    model.zero_grad()
    return stats


@torch.no_grad()
def r2(model, x, y):
    model.eval()
    value = 1 - (F.mse_loss(model(x), y) / y.var(unbiased=False)).item()
    model.train()
    return value


def main():
    torch.manual_seed(25)
    gen = torch.Generator().manual_seed(25)
    drill = Drill(gen)
    (x, y), (x_held, y_held) = drill.cores(3000), drill.cores(1000)
    big = train(Grader(drill.bands, *statistics(x)), x, y, 450, gen, "all bands")
    print(f"all bands: R2 {r2(big, x_held, y_held):.3f}")
    chosen = observe(big, x, y).best(6)
    keep = torch.cat([torch.zeros(1, dtype=torch.long), chosen[chosen > 0]])
    print("bands kept:", keep.tolist())
    small = train(Grader(len(keep), *statistics(x[:, keep])), x[:, keep], y, 450, gen, "few bands")
    print(f"few bands: R2 {r2(small, x_held[:, keep], y_held):.3f}")


if __name__ == "__main__":
    main()
