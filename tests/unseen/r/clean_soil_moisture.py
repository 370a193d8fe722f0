"""Predicts soil moisture from radar backscatter, reshuffling the samples in memory before every epoch.

TRUTH: the shuffle swaps rows of tensors by tuple assignment, but the right side holds views, so the second write reads the row that was just overwritten: every swap duplicates a row and loses another (count of distinct rows falls each epoch); swap by index.
"""
import random

import torch
from torch import nn


class InMemoryData:
    def __init__(self, features, target):
        self.features, self.target = features, target

    def __len__(self):
        return len(self.target)

    def shuffle(self, rng):
        """Fisher-Yates, without a second copy of the data."""
        for i in range(len(self) - 1, 0, -1):
            j = rng.randint(0, i)
            for rows in (self.features, self.target):
                rows[[i, j]] = rows[[j, i]]

    def batches(self, size):
        for start in range(0, len(self), size):
            yield self.features[start:start + size], self.target[start:start + size]

    def distinct(self):
        return len(torch.unique(self.features, dim=0))


def measure(n, generator):
    x = torch.randn(n, 5, generator=generator)
    moisture = torch.tanh(x[:, 0] - 0.5 * x[:, 1] * x[:, 2]) + 0.2 * x[:, 3]
    return InMemoryData(x, moisture + 0.05 * torch.randn(n, generator=generator))


def evaluate(model, data):
    with torch.no_grad():
        return nn.functional.mse_loss(model(data.features).squeeze(1), data.target).item()


def main():
    torch.manual_seed(46)
    rng, generator = random.Random(46), torch.Generator().manual_seed(47)
    train, test = measure(500, generator), measure(500, generator)
    model = nn.Sequential(nn.Linear(5, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(20):
        train.shuffle(rng)
        for x, moisture in train.batches(50):
            loss = nn.functional.mse_loss(model(x).squeeze(1), moisture)
            opt.zero_grad()
            loss.backward()
            opt.step()
        if epoch % 5 == 4:
            print(f"epoch {epoch + 1:2d}  distinct rows {train.distinct()}  "
                  f"train {evaluate(model, train):.4f}  test {evaluate(model, test):.4f}")


if __name__ == "__main__":
    main()
