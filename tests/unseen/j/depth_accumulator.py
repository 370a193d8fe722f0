# kind: condition_turned_round
"""Depth from stereo cost rows, with gradient accumulation inside a small engine."""
from dataclasses import dataclass

import torch
from torch import nn
import torch.nn.functional as F


@dataclass
class EngineConfig:
    micro_batch: int = 16
    accumulate: int = 4
    lr: float = 0.05
    epochs: int = 6


class DepthHead(nn.Module):
    """Soft arg-min over the disparities of a row."""

    def __init__(self, disparities=16, hidden=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(disparities, hidden), nn.ReLU(), nn.Linear(hidden, disparities))
        self.register_buffer("values", torch.linspace(0, 1, disparities))

    def forward(self, cost):
        return (self.net(cost).softmax(-1) * self.values).sum(-1)


def cost_rows(n, disparities=16):
    depth = torch.rand(n)
    where = torch.linspace(0, 1, disparities)
    cost = (where - depth.unsqueeze(1)).abs() * 4
    return cost + 0.3 * torch.randn(n, disparities), depth


class Engine:
    def __init__(self, model, cfg):
        self.model, self.cfg = model, cfg
        self.optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=0.9)
        self.passes = 0
        self.updates = 0

    @property
    def at_boundary(self):
        return bool(self.passes % self.cfg.accumulate)  # CULPRIT

    def backward(self, loss):
        (loss / self.cfg.accumulate).backward()
        self.passes += 1

    def step(self):
        if self.at_boundary:
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.updates += 1

    def run_epoch(self, cost, depth):
        total = 0.0
        for pick in torch.randperm(len(cost)).split(self.cfg.micro_batch):
            loss = F.smooth_l1_loss(self.model(cost[pick]), depth[pick], beta=0.05)
            self.backward(loss)
            self.step()
            total += loss.item() * len(pick)
        return total / len(cost)


def main():
    torch.manual_seed(0)
    cfg = EngineConfig()
    cost, depth = cost_rows(1024)
    engine = Engine(DepthHead(), cfg)
    for epoch in range(cfg.epochs):
        loss = engine.run_epoch(cost, depth)
        print(f"epoch {epoch}: loss {loss:.4f} passes {engine.passes} updates {engine.updates}")


if __name__ == "__main__":
    main()
