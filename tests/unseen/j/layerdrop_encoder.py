# kind: checkpoint_rng_mismatch
import random
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

random.seed(1)
torch.manual_seed(1)


@dataclass
class Config:
    atoms: int = 10
    dim: int = 32
    depth: int = 4
    drop: float = 0.1
    recompute: bool = True
    lr: float = 2e-3
    steps: int = 100


def molecules(n, cfg):
    """Point clouds in a box; the target is the mean of a pair potential."""
    pos = torch.rand(n, cfg.atoms, 3) * 2
    d = torch.cdist(pos, pos) + 0.3
    energy = (torch.exp(-d) - 0.2 / d).mean((1, 2))
    return pos, 20 * energy


class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.message = nn.Sequential(nn.Linear(2 * dim, dim), nn.SiLU(), nn.Linear(dim, dim))

    def forward(self, h, near):
        context = near @ h
        return h + self.message(torch.cat([self.norm(h), context], -1))


class Encoder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.enter = nn.Linear(3, cfg.dim)
        self.layers = nn.ModuleList(Layer(cfg.dim) for _ in range(cfg.depth))
        self.energy = nn.Linear(cfg.dim, 1)

    def skip(self):
        return self.training and random.random() < self.cfg.drop  # CULPRIT

    def stack(self, h, near):
        for layer in self.layers:
            if not self.skip():
                h = layer(h, near)
        return h

    def forward(self, pos):
        near = (-3 * torch.cdist(pos, pos)).softmax(-1)
        h = self.enter(pos)
        if self.cfg.recompute and self.training:
            h = checkpoint(self.stack, h, near, use_reentrant=False)
        else:
            h = self.stack(h, near)
        return self.energy(h).mean((1, 2))


def evaluate(model, cfg):
    model.eval()
    with torch.no_grad():
        pos, energy = molecules(200, cfg)
        err = F.l1_loss(model(pos), energy).item()
    model.train()
    return err


def main(cfg):
    model = Encoder(cfg)
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    for step in range(1, cfg.steps + 1):
        pos, energy = molecules(48, cfg)
        loss = F.mse_loss(model(pos), energy)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 25 == 0:
            print(f"step {step} loss {loss.item():.4f} eval {evaluate(model, cfg):.4f}")


main(Config())
