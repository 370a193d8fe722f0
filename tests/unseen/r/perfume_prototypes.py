"""Classify perfumes from sensor arrays by their distance to moving class prototypes.

TRUTH: the moving prototypes keep the graph of every earlier batch, which each backward walks again, and retain_graph only keeps that from raising; time per step grows from block to block; detach the batch means in the update and drop retain_graph.
"""
import time

import torch
import torch.nn.functional as F
from torch import nn


class PrototypeMemory:
    def __init__(self, n_classes, dim, momentum=0.95):
        self.momentum = momentum
        self.vectors = torch.zeros(n_classes, dim)

    def refresh(self, z, label):
        onehot = F.one_hot(label, len(self.vectors)).to(z.dtype)
        count = onehot.sum(0).clamp_min(1.0)
        means = (onehot.t() @ z) / count[:, None]
        seen = (onehot.sum(0) > 0)[:, None]
        mixed = self.momentum * self.vectors + (1 - self.momentum) * means  # CULPRIT
        self.vectors = torch.where(seen, mixed, self.vectors)


class Projection(nn.Module):
    def __init__(self, sensors, dim):
        super().__init__()
        self.linear = nn.Linear(sensors, dim)

    def forward(self, x):
        return self.linear(x)


def batch(centers, n):
    label = torch.randint(0, len(centers), (n,))
    return centers[label] + 0.5 * torch.randn(n, centers.shape[1]), label


def train(steps=240, n_classes=6, sensors=16, dim=8):
    torch.manual_seed(8)
    centers = torch.randn(n_classes, sensors)
    model = Projection(sensors, dim)
    memory = PrototypeMemory(n_classes, dim)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    tick = time.perf_counter()
    for step in range(1, steps + 1):
        x, label = batch(centers, 64)
        z = model(x)
        memory.refresh(z, label)
        distance = (z[:, None] - memory.vectors[None]).pow(2).sum(-1)
        loss = F.cross_entropy(-distance, label) + 1e-3 * z.pow(2).mean()
        opt.zero_grad()
        loss.backward(retain_graph=True)
        opt.step()
        if step % 60 == 0:
            now = time.perf_counter()
            acc = (distance.argmin(1) == label).float().mean()
            print(f"step {step} loss {loss.item():.3f} acc {acc:.2f} {1e3 * (now - tick) / 60:.2f} ms/step")
            tick = now


if __name__ == "__main__":
    train()
