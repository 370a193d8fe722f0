"""Forecast the power of wind turbines with a layer that keeps running input scales.

TRUTH: the running scale is updated in place after the division has saved it, so backward raises "modified by an inplace operation"; update the statistic before it is used (or divide by a clone).
"""
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Config:
    sensors: int = 6
    hidden: int = 24
    momentum: float = 0.05
    steps: int = 100
    batch: int = 64


class RunningScale(nn.Module):
    """Divides by a running mean of the absolute activation."""

    def __init__(self, dim, momentum):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("scale", torch.ones(dim))

    def forward(self, x):
        y = x / self.scale
        if self.training:
            self.scale.lerp_(x.detach().abs().mean(0), self.momentum)  # CULPRIT
        return y


class PowerNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.inp = nn.Linear(cfg.sensors, cfg.hidden)
        self.norm = RunningScale(cfg.hidden, cfg.momentum)
        self.out = nn.Linear(cfg.hidden, 1)

    def forward(self, x):
        return self.out(F.gelu(self.norm(self.inp(x)))).squeeze(-1)


def batches(cfg, gen):
    while True:
        x = torch.randn(cfg.batch, cfg.sensors, generator=gen) * 4 + 2
        wind = x[:, 0].clamp(0, 8)
        yield x, (wind / 8) ** 3 + 0.02 * x[:, 1]


def fit(cfg):
    torch.manual_seed(3)
    model = PowerNet(cfg)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    stream = batches(cfg, torch.Generator().manual_seed(5))
    for step, (x, y) in zip(range(cfg.steps), stream):
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if step % 25 == 0:
            print(f"{step:4d} loss {loss.item():.4f}")
    print(f"last loss {loss.item():.4f}")


if __name__ == "__main__":
    fit(Config())
