"""Fits a small network to the heat equation in a column of frozen soil, from its residual and its edges."""
import math
from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True)
class Soil:
    depth: float = 1.0
    horizon: float = 0.4
    diffusivity: float = 0.5
    swing: float = 1.0


class SineNet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.inner = nn.Linear(2, width)
        self.middle = nn.Linear(width, width)
        self.outer = nn.Linear(width, 1)

    def forward(self, coords):
        hidden = torch.tanh(self.inner(coords))
        hidden = torch.tanh(self.middle(hidden))
        return self.outer(hidden)


class Field:
    """Values of a network at a set of points, with their partial derivatives."""

    axes = {"z": 0, "t": 1}

    def __init__(self, network, coords):
        self.coords = coords.requires_grad_()
        self.values = network(self.coords)
        self._known = {}

    def partial(self, *path):
        if path not in self._known:
            level = self.values
            for name in path:
                (slopes,) = torch.autograd.grad(level.sum(), self.coords, create_graph=True)
                column = self.axes[name]
                level = slopes[:, column:column + 1]
            self._known[path] = level
        return self._known[path]


def inside(soil, count, rng):
    unit = torch.rand(count, 2, generator=rng)
    return unit * torch.tensor([soil.depth, soil.horizon])


def edges(soil, count, rng):
    z = torch.rand(count, 1, generator=rng) * soil.depth
    start = torch.cat([z, torch.zeros_like(z)], dim=1)
    t = torch.rand(count, 1, generator=rng) * soil.horizon
    top = torch.cat([torch.zeros_like(t), t], dim=1)
    bottom = torch.cat([torch.full_like(t, soil.depth), t], dim=1)
    values = torch.cat([soil.swing * torch.sin(math.pi * z / soil.depth),
                        torch.zeros(2 * count, 1)])
    return torch.cat([start, top, bottom]), values


def exact(soil, coords):
    rate = soil.diffusivity * (math.pi / soil.depth) ** 2
    return (soil.swing * torch.sin(math.pi * coords[:, :1] / soil.depth)
            * torch.exp(-rate * coords[:, 1:]))


def heat_residual(field, soil):
    return field.partial("t") - soil.diffusivity * field.partial("z", "z")


def main():
    torch.manual_seed(3)
    rng = torch.Generator().manual_seed(11)
    soil = Soil()
    network = SineNet()
    optimizer = torch.optim.Adam(network.parameters(), lr=2e-2)
    probe = inside(soil, 400, rng)
    for step in range(60):
        residual = heat_residual(Field(network, inside(soil, 256, rng)), soil)
        where, known = edges(soil, 128, rng)
        edge_loss = (network(where) - known).square().mean()
        loss = residual.square().mean() + edge_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            with torch.no_grad():
                error = (network(probe) - exact(soil, probe)).abs().mean()
            print(f"step {step:3d}  loss {loss.item():.4f}  mean error {error.item():.4f}")


if __name__ == "__main__":
    main()
