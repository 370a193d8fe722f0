"""Estimates timber volume per forest stand by summing a learned volume over the scanned trees.

TRUTH: the plots' areas come from numpy in double precision and turn the trees' contributions double, which index_add_ refuses to add into the float sums ("self (Float) and source (Double) must have the same scalar type"); make the areas float32.
"""
import numpy as np
import torch
from torch import nn

RNG = np.random.default_rng(99)


class TreeVolume(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 24), nn.Softplus(), nn.Linear(24, 1), nn.Softplus())

    def forward(self, trees, stand, area):
        volume = self.net(trees).squeeze(1)
        total = torch.zeros(len(area))
        return total.index_add_(0, stand, volume / area[stand])


def scan(stands):
    """Trees of all stands with height and diameter, and the measured volume per hectare."""
    counts = RNG.integers(5, 15, size=stands)
    stand = np.repeat(np.arange(stands), counts)
    height = RNG.uniform(0.5, 2.0, size=len(stand))
    diameter = RNG.uniform(0.3, 1.5, size=len(stand))
    area = RNG.uniform(0.8, 1.6, size=stands)
    volume = np.bincount(stand, weights=0.8 * height * diameter ** 2) / area
    return dict(trees=np.stack([height, diameter], axis=1), stand=stand, area=area, volume=volume)


def to_tensors(record):
    return dict(
        trees=torch.from_numpy(record["trees"]).float(),
        stand=torch.from_numpy(record["stand"]),
        area=torch.from_numpy(record["area"]),  # CULPRIT
        volume=torch.from_numpy(record["volume"]).float(),
    )


def run(steps=200):
    torch.manual_seed(99)
    model = TreeVolume()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(steps):
        batch = to_tensors(scan(stands=32))
        measured = batch.pop("volume")
        loss = nn.functional.smooth_l1_loss(model(**batch), measured)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 0 or step == steps - 1:
            print(f"step {step:3d}  loss {loss.item():.4f}")


if __name__ == "__main__":
    run()
