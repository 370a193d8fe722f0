"""Predicts kiln temperature curves; evaluates a running average of the weights next to the weights themselves.

TRUTH: the update adds (average - parameter) instead of its opposite, so the average moves away from the parameters, faster with every step; no error, the averaged model's loss grows to large values while the model's own falls; swap the difference.
"""
import copy

import torch
from torch import nn
import torch.nn.functional as F


class WeightAverage:
    def __init__(self, model, decay=0.97):
        self.decay = decay
        self.module = copy.deepcopy(model).requires_grad_(False).eval()

    @torch.no_grad()
    def update(self, model):
        ours, theirs = list(self.module.parameters()), list(model.parameters())
        delta = torch._foreach_sub(ours, theirs)  # CULPRIT
        torch._foreach_add_(ours, delta, alpha=1 - self.decay)
        for a, b in zip(self.module.buffers(), model.buffers()):
            a.copy_(b)

    def __call__(self, x):
        return self.module(x)


class KilnNet(nn.Module):
    def __init__(self, n_in=5, horizon=12):
        super().__init__()
        self.norm = nn.BatchNorm1d(n_in)
        self.mlp = nn.Sequential(nn.Linear(n_in, 48), nn.SiLU(), nn.Linear(48, horizon))

    def forward(self, x):
        return self.mlp(self.norm(x))


def firings(n, horizon=12):
    x = torch.rand(n, 5)
    t = torch.linspace(0, 1, horizon)
    rate, top = 1 + 4 * x[:, :1], 1 + x[:, 1:2]
    return x, top * (1 - torch.exp(-rate * t)) - 0.3 * x[:, 2:3] * t


def main(steps=200):
    torch.manual_seed(31)
    x, y = firings(800)
    net = KilnNet()
    average = WeightAverage(net)
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for step in range(steps):
        net.train()
        idx = torch.randint(0, 600, (48,))
        loss = F.mse_loss(net(x[idx]), y[idx] + 0.1 * torch.randn(48, 12))
        opt.zero_grad()
        loss.backward()
        opt.step()
        average.update(net)
        if step % 40 == 39:
            net.eval()
            with torch.no_grad():
                own, mean = (F.mse_loss(m(x[600:]), y[600:]).item() for m in (net, average))
            print(f"{step + 1:4d} own {own:.5f} average {mean:.5f}")


if __name__ == "__main__":
    main()
