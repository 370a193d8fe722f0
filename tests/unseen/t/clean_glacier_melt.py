"""Regression of glacier melt from station data, with the learning rate scaled to the batch size and warmed up."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn


@dataclass
class Optim:
    base_lr: float = 0.1
    reference_batch: int = 256
    batch: int = 64
    momentum: float = 0.9
    warmup: int = 20

    @property
    def peak_lr(self) -> float:
        return self.base_lr * self.batch / self.reference_batch

    def lr(self, step: int) -> float:
        return self.peak_lr * min(1.0, (step + 1) / self.warmup)


@dataclass
class Experiment:
    optim: Optim = field(default_factory=Optim)
    steps: int = 121
    log_every: int = 20
    seed: int = 0


class Stations:
    def __init__(self, n: int, seed: int):
        g = torch.Generator().manual_seed(seed)
        temperature = torch.randn(n, 3, generator=g)
        radiation = torch.rand(n, 2, generator=g) - 0.5
        snow = torch.randn(n, 1, generator=g)
        self.x = torch.cat([temperature, radiation, snow], dim=1)
        self.y = 0.8 * temperature.clamp_min(0).sum(1) + 1.5 * radiation.sum(1) - 0.3 * snow[:, 0]
        self.y = self.y + 0.1 * torch.randn(n, generator=g)
        self.g = g

    def stream(self, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        while True:
            order = torch.randperm(len(self.x), generator=self.g)
            for idx in order.split(size):
                yield self.x[idx], self.y[idx]


class MeltNet(nn.Module):
    def __init__(self, inputs: int, hidden: int = 32):
        super().__init__()
        self.a = nn.Linear(inputs, hidden)
        self.b = nn.Linear(hidden, hidden)
        self.c = nn.Linear(hidden, 1)

    def forward(self, x: Tensor) -> Tensor:
        h = nn.functional.leaky_relu(self.a(x))
        h = nn.functional.leaky_relu(self.b(h))
        return self.c(h).squeeze(-1)


class Scheduled:
    """SGD whose rate is asked from the settings before each step."""

    def __init__(self, params, optim: Optim):
        self.settings = optim
        self.inner = torch.optim.SGD(params, lr=optim.lr(0), momentum=optim.momentum)
        self.count = 0

    def apply(self, loss: Tensor) -> None:
        for group in self.inner.param_groups:
            group["lr"] = self.settings.lr(self.count)
        self.inner.zero_grad()
        loss.backward()
        self.inner.step()
        self.count += 1


def mse(a: Tensor, b: Tensor) -> Tensor:
    return (a - b).square().mean()


def run(experiment: Experiment) -> None:
    torch.manual_seed(experiment.seed)
    train, test = Stations(1000, 1), Stations(400, 2)
    model = MeltNet(train.x.shape[1])
    opt = Scheduled(model.parameters(), experiment.optim)
    for step, (x, y) in zip(range(experiment.steps), train.stream(experiment.optim.batch)):
        loss = mse(model(x), y)
        opt.apply(loss)
        if step % experiment.log_every == 0:
            with torch.no_grad():
                held_out = mse(model(test.x), test.y)
            print(f"step {step:4d} loss {loss.item():.4g} held out {held_out.item():.4g}")


if __name__ == "__main__":
    run(Experiment())
