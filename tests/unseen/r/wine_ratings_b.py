"""Regresses wine ratings from laboratory values; a stream of shuffled batches feeds a fixed number of steps.

TRUTH: stream() begins a new pass with the same seed at every call, and every step calls it and takes its first batch; the net only ever sees the same 32 wines: training loss falls to ~0 while the test error is far above the fixed run's; make the stream once and take next from it.
"""
from typing import Iterator

import torch
from torch import nn
import torch.nn.functional as F


class Cellar:
    def __init__(self, n, seed):
        gen = torch.Generator().manual_seed(seed)
        weights = torch.linspace(1.0, -1.0, 11)
        self.lab = torch.randn(n, 11, generator=gen)
        noise = 0.1 * torch.randn(n, generator=gen)
        self.rating = self.lab @ weights / 2 + 0.5 * torch.tanh(self.lab[:, 0] * self.lab[:, 1]) + noise
        self.seed = seed

    def stream(self, batch) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        gen = torch.Generator().manual_seed(self.seed)
        while True:
            for idx in torch.randperm(len(self.lab), generator=gen).split(batch):
                yield self.lab[idx], self.rating[idx]


class RatingNet(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(11, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, lab):
        return self.mlp(lab).squeeze(-1)


def training_step(net, opt, lab, rating):
    loss = F.mse_loss(net(lab), rating)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


@torch.no_grad()
def test_error(net, cellar):
    return F.mse_loss(net(cellar.lab), cellar.rating).item()


def main(steps=250, batch=32):
    torch.manual_seed(41)
    train, test = Cellar(1000, seed=1), Cellar(300, seed=2)
    net = RatingNet()
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for step in range(steps):
        lab, rating = next(train.stream(batch))  # CULPRIT
        loss = training_step(net, opt, lab, rating)
        if step % 50 == 0:
            print(f"{step:4d} train {loss:.4f} test {test_error(net, test):.4f}")
    print("final train", loss, "test", test_error(net, test))


if __name__ == "__main__":
    main()
