"""Regresses the viscosity of glass melts from their composition with a deep plain network.

TRUTH: every weight of the 14 plain tanh layers starts with a standard deviation of 0.02, so activations and gradients shrink by about ten from layer to layer (the first layer's gradient is almost 0) and the loss stays at the variance of the target; use Xavier initialisation.
"""
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Recipe:
    oxides: int = 6
    width: int = 32
    depth: int = 14
    lr: float = 1e-3
    batch: int = 128
    steps: int = 250


def build(recipe):
    sizes = [recipe.oxides] + [recipe.width] * recipe.depth
    layers = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        layers += [nn.Linear(inputs, outputs), nn.Tanh()]
    layers += [nn.Linear(recipe.width, 1), nn.Flatten(0)]
    return nn.Sequential(*layers)


def reset(module, recipe):
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight, gain=nn.init.calculate_gain("tanh"))
        nn.init.zeros_(module.bias)


def melts(recipe):
    share = torch.distributions.Dirichlet(torch.ones(recipe.oxides)).sample((recipe.batch,))
    viscosity = 6 * share[:, 0] - 5 * share[:, 1] + 8 * share[:, 2] * share[:, 3]
    return (share - 1 / recipe.oxides) * 5, viscosity - 0.5


def main():
    torch.manual_seed(90)
    recipe = Recipe()
    model = build(recipe)
    model.apply(lambda module: reset(module, recipe))
    opt = torch.optim.Adam(model.parameters(), lr=recipe.lr)
    for step in range(recipe.steps):
        share, viscosity = melts(recipe)
        loss = nn.functional.mse_loss(model(share), viscosity)
        opt.zero_grad()
        loss.backward()
        if step % 50 == 0 or step == recipe.steps - 1:
            first, last = model[0].weight.grad.norm().item(), model[-2].weight.grad.norm().item()
            print(f"{step:3d} loss {loss.item():.4f} gradient first {first:.1e} last {last:.1e}")
        opt.step()


if __name__ == "__main__":
    main()
