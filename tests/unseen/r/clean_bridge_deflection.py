"""Solves the bending of a bridge deck under its load, w'' = m(x), with a physics-informed network.

TRUTH: the activation is LeakyReLU, so the network is piecewise linear and its second derivative is 0 everywhere: the residual stays at the mean square of the load and only the supports are trained; use tanh.
"""
from dataclasses import dataclass

import torch
from torch import nn
from torch.func import functional_call, grad, vmap


@dataclass
class Options:
    width: int = 32
    activation: str = "Tanh"
    points: int = 64
    steps: int = 300
    lr: float = 5e-3
    support_weight: float = 10.0


class Deck(nn.Module):
    def __init__(self, options):
        super().__init__()
        active = getattr(nn, options.activation)
        self.net = nn.Sequential(
            nn.Linear(1, options.width), active(),
            nn.Linear(options.width, options.width), active(),
            nn.Linear(options.width, 1),
        )

    def forward(self, x):
        return self.net(x)


def moment(x):
    return -torch.sin(torch.pi * x)


def exact(x):
    return torch.sin(torch.pi * x) / torch.pi ** 2


def losses(model, x, options):
    params = dict(model.named_parameters())

    def deflection(position):
        return functional_call(model, params, (position.reshape(1),)).squeeze()

    bending = vmap(grad(grad(deflection)))(x)
    residual = (bending - moment(x)).square().mean()
    supports = vmap(deflection)(torch.tensor([0.0, 1.0])).square().sum()
    return residual, options.support_weight * supports


def solve(options):
    torch.manual_seed(16)
    model = Deck(options)
    optimizer = torch.optim.Adam(model.parameters(), lr=options.lr)
    for step in range(options.steps):
        residual, supports = losses(model, torch.rand(options.points), options)
        optimizer.zero_grad()
        (residual + supports).backward()
        optimizer.step()
        if step % 100 == 0 or step == options.steps - 1:
            print(f"step {step:3d} residual {residual.item():.5f} supports {supports.item():.5f}")
    return model


if __name__ == "__main__":
    model = solve(Options())
    x = torch.linspace(0, 1, 50)
    with torch.no_grad():
        error = (model(x.unsqueeze(1)).squeeze(1) - exact(x)).abs().max().item()
    print(f"largest error {error:.4f} of {exact(x).max().item():.4f}")
