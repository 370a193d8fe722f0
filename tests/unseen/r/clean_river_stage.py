"""Forecast river stage with a rating head and an auxiliary rain head.

TRUTH: the weight is filed under "rain" while the loss is called "rain_mm", so the auxiliary loss is computed and logged but never part of the total; the rain head gets no gradient and its loss does not fall; name the key like the loss.
"""
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Config:
    steps: int = 100
    lr: float = 5e-3
    hidden: int = 24
    weights: dict = field(
        default_factory=lambda: {
            "stage": 1.0,
            "rain_mm": 0.3,
            "smooth": 0.01,
        }
    )


class StageModel(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.rnn = nn.GRU(2, hidden, batch_first=True)
        self.stage = nn.Linear(hidden, 1)
        self.rain = nn.Linear(hidden, 1)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.stage(h).squeeze(-1), self.rain(h).squeeze(-1)


class Forecaster:
    def __init__(self, cfg):
        self.cfg = cfg
        self.model = StageModel(cfg.hidden)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=cfg.lr)

    def losses(self, batch):
        x, stage, rain = batch
        stage_hat, rain_hat = self.model(x)
        return {
            "stage": F.mse_loss(stage_hat, stage),
            "rain_mm": F.mse_loss(rain_hat, rain),
            "smooth": stage_hat.diff(dim=1).square().mean(),
        }

    def training_step(self, batch):
        losses = self.losses(batch)
        total = sum(v * self.cfg.weights.get(k, 0.0) for k, v in losses.items())
        self.optimizer.zero_grad()
        total.backward()
        self.optimizer.step()
        return {k: round(v.item(), 4) for k, v in losses.items()}


def storms(n, gen, length=24):
    rain = torch.rand(n, length, generator=gen).pow(4) * 3
    kernel = torch.exp(-torch.arange(6.0) / 2).flip(0).view(1, 1, -1)
    stage = F.conv1d(F.pad(rain[:, None], (5, 0)), kernel)[:, 0] * 0.5
    gauge = torch.stack([rain + 0.3 * torch.randn(rain.shape, generator=gen), rain.sqrt()], -1)
    return gauge, stage, rain


if __name__ == "__main__":
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(2)
    forecaster = Forecaster(Config())
    for step in range(forecaster.cfg.steps):
        logs = forecaster.training_step(storms(32, generator))
        if step % 25 == 0 or step == forecaster.cfg.steps - 1:
            print(step, logs)
