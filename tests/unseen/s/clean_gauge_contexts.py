"""Meta-learns a tide model whose small context vector is adapted to each gauge with two steps."""
import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import nn


class Task(NamedTuple):
    support: tuple
    query: tuple


@dataclass
class Settings:
    context: int = 6
    width: int = 32
    inner_lr: float = 0.5
    inner_steps: int = 2
    tasks: int = 6
    lr: float = 5e-3


class Gauges:
    """Each gauge has an amplitude and a phase of its own."""

    def __init__(self, seed, points=16):
        self.rng = torch.Generator().manual_seed(seed)
        self.points = points

    def _sample(self, amplitude, phase):
        hour = torch.rand(self.points, 1, generator=self.rng) * 2 - 1
        return hour, amplitude * torch.sin(math.pi * hour + phase)

    def task(self):
        amplitude = 0.5 + 1.5 * torch.rand(1, generator=self.rng)
        phase = math.pi * torch.rand(1, generator=self.rng)
        return Task(self._sample(amplitude, phase), self._sample(amplitude, phase))


class TideNet(nn.Module):
    def __init__(self, settings):
        super().__init__()
        self.context_size = settings.context
        self.body = nn.Sequential(
            nn.Linear(1 + settings.context, settings.width), nn.Tanh(),
            nn.Linear(settings.width, settings.width), nn.Tanh(),
            nn.Linear(settings.width, 1))

    def fresh_context(self):
        return torch.zeros(self.context_size, requires_grad=True)

    def forward(self, hour, context):
        return self.body(torch.cat([hour, context.expand(len(hour), -1)], dim=1))


class ContextLearner:
    def __init__(self, net, settings):
        self.net, self.settings = net, settings
        self.optimizer = torch.optim.Adam(net.parameters(), lr=settings.lr)

    def fit(self, context, pairs):
        hour, level = pairs
        return nn.functional.mse_loss(self.net(hour, context), level)

    def adapt(self, support):
        context = self.net.fresh_context()
        for _ in range(self.settings.inner_steps):
            (slope,) = torch.autograd.grad(self.fit(context, support), context, create_graph=True)
            context = context - self.settings.inner_lr * slope
        return context

    def meta_step(self, tasks):
        self.optimizer.zero_grad()
        total = 0.0
        for task in tasks:
            loss = self.fit(self.adapt(task.support), task.query) / len(tasks)
            loss.backward(inputs=list(self.net.parameters()))
            total += loss.item()
        self.optimizer.step()
        return total


def main():
    torch.manual_seed(14)
    settings = Settings()
    gauges = Gauges(seed=9)
    learner = ContextLearner(TideNet(settings), settings)
    for step in range(60):
        loss = learner.meta_step([gauges.task() for _ in range(settings.tasks)])
        if step % 10 == 9:
            print(f"step {step + 1:3d}  query loss {loss:.4f}")


if __name__ == "__main__":
    main()
