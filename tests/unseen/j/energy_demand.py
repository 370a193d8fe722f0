# kind: diverging_training
"""Day-ahead demand forecast with a linear scaling rule for the learning rate."""
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class TrainConfig:
    base_lr: float = 0.8
    base_batch: int = 256
    batch: int = 64
    momentum: float = 0.5
    epochs: int = 6
    warmup: int = 5


def hourly_demand(days):
    hour = torch.arange(days * 24).float()
    daily = torch.sin(2 * torch.pi * hour / 24)
    weekly = 0.5 * torch.sin(2 * torch.pi * hour / (24 * 7))
    return daily + weekly + 0.1 * torch.randn(len(hour))


def windows(series, past=24, ahead=12):
    frames = series.unfold(0, past + ahead, 1)
    return frames[:, :past].contiguous(), frames[:, past:].contiguous()


class Forecaster(nn.Module):
    def __init__(self, past=24, ahead=12, hidden=24):
        super().__init__()
        self.linear = nn.Linear(past, ahead)
        self.correction = nn.Sequential(nn.Linear(past, hidden), nn.Tanh(), nn.Linear(hidden, ahead))

    def forward(self, x):
        return self.linear(x) + self.correction(x)


def scaled_lr(cfg):
    """Linear scaling as in Goyal et al."""
    return cfg.base_lr * cfg.base_batch / cfg.batch  # CULPRIT


def build_optimizer(model, cfg):
    optimizer = torch.optim.SGD(model.parameters(), lr=scaled_lr(cfg), momentum=cfg.momentum)
    warmup = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, 1.0, total_iters=cfg.warmup)
    return optimizer, warmup


def main():
    torch.manual_seed(0)
    cfg = TrainConfig()
    x, y = windows(hourly_demand(40))
    model = Forecaster()
    optimizer, scheduler = build_optimizer(model, cfg)
    for epoch in range(cfg.epochs):
        total, count = 0.0, 0
        for index in torch.randperm(len(x)).split(cfg.batch):
            loss = F.mse_loss(model(x[index]), y[index])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            total += loss.item() * len(index)
            count += len(index)
        print(f"epoch {epoch}  mse {total / count:.5g}  lr {scheduler.get_last_lr()[0]:.3f}")


if __name__ == "__main__":
    main()
