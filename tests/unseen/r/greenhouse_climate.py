"""Model greenhouse temperature with separate optimizers for embedding table and dynamics.

TRUTH: the list of optimizers whose gradients are cleared holds only the dense one, so the table's gradients add up over all steps and its optimizer steps old gradients again (the printed gradient norm of the table stays ten to thirty times that of the repaired run); clear every optimizer.
"""
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Config:
    houses: int = 20
    dim: int = 4
    steps: int = 160
    table_lr: float = 2.0
    dense_lr: float = 5e-3


class Climate(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.table = nn.Embedding(cfg.houses, cfg.dim)
        self.net = nn.Sequential(nn.Linear(cfg.dim + 3, 32), nn.SiLU(), nn.Linear(32, 1))

    def forward(self, house, weather):
        return self.net(torch.cat([self.table(house), weather], -1)).squeeze(-1)


class Optimizers:
    def __init__(self, model, cfg):
        self.table = torch.optim.SGD(model.table.parameters(), lr=cfg.table_lr)
        self.dense = torch.optim.Adam(model.net.parameters(), lr=cfg.dense_lr)

    def zero_grad(self):
        for optimizer in [self.dense]:  # CULPRIT
            optimizer.zero_grad()

    def step(self):
        self.table.step()
        self.dense.step()


def readings(cfg, gen, glass):
    house = torch.randint(0, cfg.houses, (128,), generator=gen)
    weather = torch.randn(128, 3, generator=gen)
    inside = glass[house] * torch.relu(weather[:, 0]) + 0.5 * weather[:, 1]
    return house, weather, inside


def main(cfg):
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(1)
    glass = torch.rand(cfg.houses, generator=gen) * 2
    model = Climate(cfg)
    optimizers = Optimizers(model, cfg)
    for step in range(cfg.steps):
        house, weather, inside = readings(cfg, gen, glass)
        loss = nn.functional.mse_loss(model(house, weather), inside)
        optimizers.zero_grad()
        loss.backward()
        optimizers.step()
        if step % 40 == 0 or step == cfg.steps - 1:
            norm = model.table.weight.grad.norm().item()
            print(f"step {step:3d}  loss {loss.item():.4f}  table gradient {norm:.4f}")


if __name__ == "__main__":
    main(Config())
