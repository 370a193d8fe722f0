"""Predicts closing prices of online auctions, accumulating gradients over several small batches.

TRUTH: an epoch has 8 batches and accumulate is 16, so the condition for a step is never met before the next epoch clears the gradients; no error, the optimizer never steps and the loss stays the same in all epochs; accumulate no more than an epoch has batches (4).
"""
from dataclasses import dataclass

import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class RunConfig:
    lots: int = 512
    batch: int = 64
    accumulate: int = 4
    epochs: int = 15
    lr: float = 1e-2


class BidNet(nn.Module):
    def __init__(self, categories=6, numeric=4):
        super().__init__()
        self.category = nn.Embedding(categories, 8)
        self.mlp = nn.Sequential(nn.Linear(8 + numeric, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, cat, num):
        return self.mlp(torch.cat([self.category(cat), num], dim=1)).squeeze(1)


def auctions(n):
    cat = torch.randint(0, 6, (n,))
    num = torch.randn(n, 4)
    level = torch.linspace(-1, 1, 6)[cat]
    return TensorDataset(cat, num, level + num[:, 0] - 0.5 * num[:, 1].abs())


class Loop:
    def __init__(self, cfg):
        self.cfg = cfg
        self.loader = DataLoader(auctions(cfg.lots), batch_size=cfg.batch, shuffle=True)
        self.net = BidNet()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=cfg.lr)

    def epoch(self):
        self.opt.zero_grad()
        total = 0.0
        for i, (cat, num, price) in enumerate(self.loader, start=1):
            loss = F.mse_loss(self.net(cat, num), price)
            (loss / self.cfg.accumulate).backward()
            if i % self.cfg.accumulate == 0:
                self.opt.step()
                self.opt.zero_grad()
            total += loss.item()
        return total / len(self.loader)


def main():
    torch.manual_seed(26)
    loop = Loop(RunConfig())
    for epoch in range(loop.cfg.epochs):
        mean = loop.epoch()
        if epoch % 3 == 0:
            print(epoch, round(mean, 5))
    print("last", mean, "parameters with optimizer state", len(loop.opt.state))


if __name__ == "__main__":
    main()
