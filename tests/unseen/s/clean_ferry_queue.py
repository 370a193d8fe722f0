"""Estimates the waiting time in a ferry queue from hour, season and traffic counts."""
from dataclasses import dataclass, field
from functools import partial
from typing import Callable

import torch
from torch import nn


@dataclass
class Scheme:
    weight: Callable = partial(nn.init.kaiming_uniform_, nonlinearity="tanh")
    bias: Callable = nn.init.zeros_

    def __call__(self, module):
        if isinstance(module, nn.Linear):
            self.weight(module.weight)
            self.bias(module.bias)


@dataclass
class QueueConfig:
    inputs: int = 6
    hidden: tuple = (24, 24)
    lr: float = 1e-2
    epochs: int = 20
    scheme: Scheme = field(default_factory=Scheme)


def build(cfg):
    layers, width = [], cfg.inputs
    for size in cfg.hidden:
        layers += [nn.Linear(width, size), nn.Tanh()]
        width = size
    body = nn.Sequential(*layers)
    body.apply(cfg.scheme)
    return nn.Sequential(body, nn.Linear(width, 1), nn.Flatten(0))


def observe(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 6, generator=g)
    wait = torch.sin(2 * x[:, 0]) * x[:, 1] + 0.7 * (x[:, 2] - x[:, 3]).abs() + 0.3 * x[:, 4]
    return x, (wait - wait.mean()) / wait.std()


class Loop:
    def __init__(self, cfg, model):
        self.cfg, self.model = cfg, model
        self.opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
        self.rng = torch.Generator().manual_seed(77)

    def batches(self, x, y, size=64):
        for idx in torch.randperm(len(x), generator=self.rng).split(size):
            yield x[idx], y[idx]

    def fit(self, x, y):
        for epoch in range(self.cfg.epochs):
            total = 0.0
            for xb, yb in self.batches(x, y):
                loss = nn.functional.mse_loss(self.model(xb), yb)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                total += loss.item() * len(yb)
            if epoch % 4 == 0 or epoch == self.cfg.epochs - 1:
                print(f"epoch {epoch:2d}  mse {total / len(y):.4f}")


def main():
    torch.manual_seed(40)
    cfg = QueueConfig()
    x, y = observe(640, seed=41)
    Loop(cfg, build(cfg)).fit(x, y)


if __name__ == "__main__":
    main()
