"""Mixture of experts that predicts crop yield on fields whose soils follow different laws.
"""
from dataclasses import dataclass
from typing import Callable

import torch
from torch import nn


@dataclass
class MixtureConfig:
    features: int = 6
    experts: int = 4
    hidden: int = 4
    gate_hidden: int = 16
    balance: float = 0.01
    lr: float = 8e-3
    steps: int = 700


def replicate(factory: Callable[[], nn.Module], count: int) -> nn.ModuleList:
    return nn.ModuleList([factory() for _ in range(count)])


class Gate(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(cfg.features, cfg.gate_hidden), nn.Tanh(), nn.Linear(cfg.gate_hidden, cfg.experts)
        )
        self.load = None

    def forward(self, x):
        share = self.net(x).softmax(-1)
        self.load = share.mean(0)
        return share

    def imbalance(self):
        return self.load.square().sum() * len(self.load) - 1


class SoilMixture(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.gate = Gate(cfg)
        self.experts = replicate(lambda: self._expert(cfg), cfg.experts)

    @staticmethod
    def _expert(cfg):
        return nn.Sequential(nn.Linear(cfg.features, cfg.hidden), nn.Tanh(), nn.Linear(cfg.hidden, 1))

    def forward(self, x):
        answers = torch.cat([expert(x) for expert in self.experts], -1)
        return torch.einsum("ne,ne->n", self.gate(x), answers)

    @property
    def size(self):
        return sum(p.numel() for p in self.parameters())


def fields(n, gen):
    """Two of the features tell the soil; each soil weighs rain, heat, nitrogen and depth in its own way."""
    law = torch.tensor([[2.0, -1.0, 0.5, 0.0], [-1.5, 1.5, 0.0, 1.0], [0.0, -2.0, 1.0, -1.0], [1.0, 1.0, -2.0, 0.5]])
    x = torch.randn(n, 6, generator=gen)
    soil = 2 * (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
    crop = (law[soil] * x[:, 2:]).sum(-1)
    return x, crop + 0.1 * torch.randn(n, generator=gen)


class Season:
    def __init__(self, cfg, seed):
        torch.manual_seed(seed)
        self.cfg = cfg
        self.gen = torch.Generator().manual_seed(seed)
        self.model = SoilMixture(cfg)
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=cfg.lr, weight_decay=0.0)
        self.sched = torch.optim.lr_scheduler.OneCycleLR(self.opt, cfg.lr, total_steps=cfg.steps)

    def step(self):
        x, y = fields(256, self.gen)
        mse = (self.model(x) - y).square().mean()
        loss = mse + self.cfg.balance * self.model.gate.imbalance()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.sched.step()
        return mse.item()

    @torch.no_grad()
    def error(self):
        self.model.eval()
        x, y = fields(2000, self.gen)
        value = ((self.model(x) - y).square().mean() / y.var()).item()
        self.model.train()
        return value


def main():
    season = Season(MixtureConfig(), seed=9)
    for i in range(season.cfg.steps):
        mse = season.step()
        if i % 140 == 0:
            print(f"step {i:4d}  mse {mse:.4f}")
    print(f"unexplained variance on new fields {season.error():.4f}")


if __name__ == "__main__":
    main()
