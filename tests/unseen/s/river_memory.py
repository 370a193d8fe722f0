"""Forecasts a river's level from a stream of rain, with a slow memory of the catchment between the steps.

TRUTH: Catchment.absorb keeps self.wetness with its graph, so each step's backward walks through the graphs of all steps before; retain_graph=True in the options keeps torch from complaining and all graphs alive (time and memory grow, gradients of old weights are added); keep the memory detached and drop retain_graph.
"""
from dataclasses import dataclass, field

import torch
from torch import nn


@dataclass
class Options:
    lr: float = 1e-2
    keep: float = 0.8
    cells: int = 12
    backward: dict = field(default_factory=lambda: {"retain_graph": True})


class Stream:
    """Hourly rain in three regions, for a few rivers at once, and the level that follows."""

    def __init__(self, rivers, seed):
        self.rng = torch.Generator().manual_seed(seed)
        self.soil = torch.zeros(rivers)
        self.rivers = rivers

    def __iter__(self):
        return self

    def __next__(self):
        rain = torch.rand(self.rivers, 3, generator=self.rng)
        rain = rain * (torch.rand(self.rivers, 1, generator=self.rng) < 0.5)
        self.soil = 0.8 * self.soil + 0.2 * (rain @ torch.tensor([1.0, 0.5, 0.25]))
        return rain, 2.0 * self.soil + 0.1


class Catchment(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.keep = options.keep
        self.inlet = nn.Linear(3, options.cells)
        self.wetness = None

    def absorb(self, rain):
        fresh = torch.tanh(self.inlet(rain))
        if self.wetness is None:
            self.wetness = torch.zeros_like(fresh)
        state = self.keep * self.wetness + (1 - self.keep) * fresh
        self.wetness = state  # CULPRIT
        return state


class River(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.catchment = Catchment(options)
        self.outlet = nn.Sequential(nn.Linear(options.cells, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, rain):
        return self.outlet(self.catchment.absorb(rain)).squeeze(-1)


class Forecaster:
    def __init__(self, river, options):
        self.river, self.options = river, options
        self.optimizer = torch.optim.Adam(river.parameters(), lr=options.lr)

    def update(self, rain, level):
        loss = nn.functional.mse_loss(self.river(rain), level)
        self.optimizer.zero_grad()
        loss.backward(**self.options.backward)
        self.optimizer.step()
        return loss.item()


def main():
    torch.manual_seed(22)
    options = Options()
    forecaster = Forecaster(River(options), options)
    for step, (rain, level) in zip(range(60), Stream(rivers=32, seed=9)):
        loss = forecaster.update(rain, level)
        if step % 10 == 9:
            print(f"step {step + 1:3d}  loss {loss:.5f}")


if __name__ == "__main__":
    main()
