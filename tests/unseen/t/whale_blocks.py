"""Fine-tunes the upper blocks of a whale call encoder on a new species, with layer-wise learning rates.

TRUTH: Frozen are names that start with "blocks.1", which blocks.10 and blocks.11 do as well: the two blocks that the
optimizer was given to learn are frozen for the whole run and only the head adapts. Compare with the dot behind
the number ("blocks.1.").
"""
import copy
from dataclasses import dataclass
from typing import Tuple

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class TuneConfig:
    depth: int = 12
    dim: int = 24
    frozen: Tuple[str, ...] = ("stem", *(f"blocks.{i}" for i in range(10)))
    tuned: Tuple[int, ...] = (10, 11)
    lr: float = 4e-3
    decay: float = 0.8
    steps: int = 500


class CallBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc1 = nn.Linear(dim, 2 * dim)
        self.fc2 = nn.Linear(2 * dim, dim)
        nn.init.normal_(self.fc2.weight, std=0.02)

    def forward(self, h):
        return h + self.fc2(F.gelu(self.fc1(self.norm(h))))


class CallEncoder(nn.Module):
    def __init__(self, cfg, bands=16, classes=2):
        super().__init__()
        self.stem = nn.Linear(bands, cfg.dim)
        self.blocks = nn.ModuleList(CallBlock(cfg.dim) for _ in range(cfg.depth))
        self.head = nn.Linear(cfg.dim, classes)

    def forward(self, x):
        h = self.stem(x)
        for block in self.blocks:
            h = block(h)
        return self.head(h)


def freeze(model, names):
    for name, p in model.named_parameters():
        p.requires_grad_(not name.startswith(tuple(names)))  # CULPRIT


def layerwise(model, cfg):
    """Lower blocks learn more slowly."""
    yield {"params": list(model.head.parameters()), "lr": cfg.lr}
    for rank, i in enumerate(sorted(cfg.tuned, reverse=True), 1):
        yield {"params": list(model.blocks[i].parameters()), "lr": cfg.lr * cfg.decay**rank}


def calls(kind, n, gen):
    x = torch.randn(n, 16, generator=gen)
    if kind == "humpback":
        y = x[:, :4].sum(-1) + 0.5 * x[:, 4] > 0
    else:
        y = x[:, 0] * x[:, 1] + 0.5 * x[:, 2] > 0
    return x, y.long()


def fit(model, opt, kind, steps, gen):
    for step in range(steps):
        x, y = calls(kind, 128, gen)
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 125 == 0:
            print(f"  {kind:8s} step {step:3d}  loss {loss.item():.4f}")


@torch.no_grad()
def accuracy(model, kind, gen):
    model.eval()
    x, y = calls(kind, 2000, gen)
    value = (model(x).argmax(-1) == y).float().mean().item()
    model.train()
    return value


def main():
    torch.manual_seed(70)
    cfg, gen = TuneConfig(), torch.Generator().manual_seed(70)
    base = CallEncoder(cfg)
    fit(base, torch.optim.AdamW(base.parameters(), lr=1e-3), "humpback", 150, gen)
    print(f"humpback accuracy {accuracy(base, 'humpback', gen):.3f}")
    model = copy.deepcopy(base)
    freeze(model, cfg.frozen)
    model.head.reset_parameters()
    fit(model, torch.optim.AdamW(list(layerwise(model, cfg)), weight_decay=0.01), "minke", cfg.steps, gen)
    print(f"minke accuracy {accuracy(model, 'minke', gen):.3f}")


if __name__ == "__main__":
    main()
