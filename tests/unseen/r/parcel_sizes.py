"""Estimate parcel volume from two views and report the gradient noise between micro-batches.

TRUTH: the dict keeps the .grad tensors themselves and the second micro-batch is accumulated into the same memory, so the rest is always exactly 0 and the printed noise is only the squared norm of the whole gradient, about ten times too large; clone the gradients that are kept.
"""
import torch
from torch import nn


def parcels(n, gen):
    size = torch.rand(n, 3, generator=gen) + 0.2
    views = torch.cat([size[:, :2], size[:, 1:]], 1)
    views += 0.05 * torch.randn(n, 4, generator=gen)
    return views, size.prod(1)


class NoiseScale:
    """Compares the gradient of the first micro-batch with that of all of them."""

    def __init__(self, model):
        self.model = model
        self.first = {}
        self.history = []

    def after_first(self):
        self.first = {n: p.grad for n, p in self.model.named_parameters()}  # CULPRIT

    def after_all(self, n_micro):
        square = 0.0
        for name, p in self.model.named_parameters():
            rest = (p.grad - self.first[name]) / (n_micro - 1)
            square += (rest - self.first[name]).square().sum().item()
        self.history.append(square)


def train(steps=60, n_micro=2):
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(1)
    model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    noise = NoiseScale(model)
    for step in range(steps):
        optimizer.zero_grad()
        total = 0.0
        for k in range(n_micro):
            views, volume = parcels(32, gen)
            loss = nn.functional.mse_loss(model(views).squeeze(1), volume)
            loss.backward()
            total += loss.item() / n_micro
            if k == 0:
                noise.after_first()
        noise.after_all(n_micro)
        for p in model.parameters():
            p.grad /= n_micro
        optimizer.step()
        if step % 15 == 0:
            print(f"step {step}  loss {total:.4f}  noise {noise.history[-1]:.6f}")
    print(f"loss {total:.4f}, mean noise {sum(noise.history) / len(noise.history):.6f}")


if __name__ == "__main__":
    train()
