"""Learns daily melt of a glacier from weather with a small residual network.

TRUTH: Experiment.model is a property that builds a new network at every access, so each step computes the loss of a fresh random model, while the optimizer holds the parameters of another; build it once (functools.cached_property).
"""
import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import nn


@dataclass
class Plan:
    inputs: int = 5
    width: int = 32
    blocks: int = 2
    lr: float = 4e-3
    steps: int = 60
    batch: int = 64


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, x):
        return x + self.inner(x)


class Weather:
    def __init__(self, days, seed):
        g = torch.Generator().manual_seed(seed)
        season = torch.linspace(0, 6 * math.pi, days)
        self.features = torch.randn(days, 5, generator=g)
        self.features[:, 0] += season.sin()
        warm = self.features[:, 0].clamp(min=0)
        self.melt = warm * 1.5 + 0.4 * self.features[:, 1] - 0.3 * self.features[:, 2].abs()

    @cached_property
    def scaled(self):
        return (self.features - self.features.mean(0)) / self.features.std(0)


class Experiment:
    def __init__(self, plan, weather):
        self.plan = plan
        self.weather = weather
        self.rng = torch.Generator().manual_seed(99)

    @property  # CULPRIT
    def model(self):
        p = self.plan
        blocks = [Residual(p.width) for _ in range(p.blocks)]
        return nn.Sequential(nn.Linear(p.inputs, p.width), *blocks, nn.Linear(p.width, 1), nn.Flatten(0))

    @cached_property
    def optimizer(self):
        return torch.optim.Adam(self.model.parameters(), lr=self.plan.lr)

    def draw(self):
        idx = torch.randint(len(self.weather.melt), (self.plan.batch,), generator=self.rng)
        return self.weather.scaled[idx], self.weather.melt[idx]

    def step(self):
        features, melt = self.draw()
        self.optimizer.zero_grad()
        loss = nn.functional.mse_loss(self.model(features), melt)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def run(self):
        window = []
        for step in range(self.plan.steps):
            window.append(self.step())
            if (step + 1) % 10 == 0:
                print(f"step {step + 1:3d}  mse {sum(window) / len(window):.4f}")
                window.clear()


def main():
    torch.manual_seed(2)
    Experiment(Plan(), Weather(days=900, seed=6)).run()


if __name__ == "__main__":
    main()
