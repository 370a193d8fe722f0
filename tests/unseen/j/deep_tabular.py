# kind: checkpoint_without_grad_input
"""Residual network on tabular sensor readings, with optional activation checkpointing."""
import functools
import warnings
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

warnings.filterwarnings("ignore", category=UserWarning)


@dataclass
class ModelConfig:
    n_features: int = 20
    width: int = 48
    stages: int = 2
    blocks_per_stage: int = 2
    save_memory: bool = True


class ResBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.ff = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        return x + self.ff(self.norm(x))


class Tokenizer(nn.Module):
    """Piecewise features of the raw readings."""

    def __init__(self, n_features, width):
        super().__init__()
        self.lin = nn.Linear(n_features, width)
        self.wave = nn.Linear(n_features, width)

    def forward(self, x):
        return self.lin(x) + torch.sin(self.wave(x))


class SensorNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        blocks = [ResBlock(cfg.width) for _ in range(cfg.blocks_per_stage * cfg.stages)]
        k = cfg.blocks_per_stage
        stages = [nn.Sequential(*blocks[i : i + k]) for i in range(0, len(blocks), k)]
        self.stem = nn.Sequential(Tokenizer(cfg.n_features, cfg.width), *stages[0])
        self.stages = nn.ModuleList(stages[1:])
        self.head = nn.Sequential(nn.LayerNorm(cfg.width), nn.Linear(cfg.width, 1))
        self.run = functools.partial(checkpoint, use_reentrant=True) if cfg.save_memory else _call  # CULPRIT

    def forward(self, x):
        x = self.run(self.stem, x)
        for stage in self.stages:
            x = self.run(stage, x)
        return self.head(x).squeeze(-1)


def _call(module, x):
    return module(x)


def readings(n, features):
    x = torch.randn(n, features)
    y = torch.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.5 * x[:, 3]
    return x, y + 0.05 * torch.randn(n)


def main():
    torch.manual_seed(0)
    cfg = ModelConfig()
    x, y = readings(800, cfg.n_features)
    net = SensorNet(cfg)
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=1e-2)
    for epoch in range(10):
        total = 0.0
        for idx in torch.randperm(len(x)).split(50):
            loss = nn.functional.mse_loss(net(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        if epoch % 3 == 0:
            print(f"epoch {epoch} mse {total / len(x):.3f} (variance {y.var():.3f})")
    idle = [n for n, p in net.named_parameters() if p.grad is None]
    print(f"{len(idle)} of {len(list(net.parameters()))} parameters have no gradient")


main()
