"""Trains a detector of forged coins and keeps a slowly moving average of its weights for the evaluation."""
import copy
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Config:
    steps: int = 60
    batch: int = 64
    lr: float = 1e-2
    decay: float = 0.999
    average_dtype: torch.dtype = torch.float32


class Detector(nn.Module):
    def __init__(self, features, width=32):
        super().__init__()
        self.first = nn.Linear(features, width)
        self.second = nn.Linear(width, width)
        self.last = nn.Linear(width, 2)

    def forward(self, x):
        x = nn.functional.silu(self.first(x))
        x = nn.functional.silu(self.second(x))
        return self.last(x)


class Shadow:
    """A copy of a model whose weights follow the model's slowly."""

    def __init__(self, model, decay, dtype):
        self.decay = decay
        self.model = copy.deepcopy(model).to(dtype).requires_grad_(False)
        self.dtype = dtype

    @torch.no_grad()
    def follow(self, model):
        for kept, current in zip(self.model.parameters(), model.parameters()):
            kept.lerp_(current.to(self.dtype), 1.0 - self.decay)

    @torch.no_grad()
    def scores(self, x):
        return self.model(x.to(self.dtype)).float()

    @torch.no_grad()
    def distance(self, model):
        gaps = [(k.float() - c).square().sum()
                for k, c in zip(self.model.parameters(), model.parameters())]
        return torch.stack(gaps).sum().sqrt().item()


class Coins:
    def __init__(self, seed, features=8):
        self.rng = torch.Generator().manual_seed(seed)
        self.axis = torch.randn(features, generator=self.rng)

    def draw(self, count):
        x = torch.randn(count, len(self.axis), generator=self.rng)
        return x, ((x @ self.axis) + x[:, 0] * x[:, 1] > 0).long()


def train(config):
    coins = Coins(seed=12)
    model = Detector(features=8)
    shadow = Shadow(model, config.decay, config.average_dtype)
    optimizer = torch.optim.Adam(model.parameters(), lr=config.lr)
    start = shadow.model.last.weight.clone()
    for step in range(config.steps):
        x, label = coins.draw(config.batch)
        loss = nn.functional.cross_entropy(model(x), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        shadow.follow(model)
        if step % 10 == 9:
            moved = (shadow.model.last.weight - start).abs().float().mean().item()
            print(f"step {step + 1:3d}  loss {loss.item():.4f}  average moved {moved:.6f}"
                  f"  behind {shadow.distance(model):.3f}")
    x, label = coins.draw(400)
    print(f"accuracy of the average {(shadow.scores(x).argmax(1) == label).float().mean().item():.3f}")


def main():
    torch.manual_seed(30)
    train(Config())


if __name__ == "__main__":
    main()
