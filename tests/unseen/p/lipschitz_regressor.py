"""Lipschitz-bounded regression network (spectral weight scaling) on a noisy two-dimensional response surface.

TRUTH: The power iteration runs with autograd on, and its result is kept on the module for the next forward
(self.u = u). sigma itself is built from detached vectors, so the gradients are right and nothing fails, but the
kept vector still carries its history: the vector of step t was computed from the one of step t-1, and so on back to
the first step. The whole chain of all forwards stays alive; the graph behind layer.u grows by a few nodes per
forward and the memory of the process climbs steadily through training. Fix: keep it without history
(self.u = u.detach(), or run the iteration under no_grad). Drawn from pytorch/pytorch#7298.
"""
import argparse
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class SpectralLinear(nn.Module):
    """Linear layer whose weight is rescaled to at most `bound` in spectral norm."""

    def __init__(self, n_in, n_out, bound=3.0, n_power=1):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_out, n_in))
        self.bias = nn.Parameter(torch.zeros(n_out))
        nn.init.orthogonal_(self.weight, gain=1.2)
        self.bound = bound
        self.n_power = n_power
        self.u = F.normalize(torch.randn(n_out), dim=0)

    def power_iteration(self):
        u = self.u
        for _ in range(self.n_power):
            v = F.normalize(torch.mv(self.weight.t(), u), dim=0)
            u = F.normalize(torch.mv(self.weight, v), dim=0)
        if self.training:
            self.u = u  # CULPRIT
        return u.detach(), v.detach()

    def forward(self, x):
        u, v = self.power_iteration()
        sigma = torch.dot(u, torch.mv(self.weight, v))
        scale = (self.bound / sigma).clamp(max=1.0)
        return F.linear(x, self.weight * scale, self.bias)


class Regressor(nn.Module):
    def __init__(self, n_in=2, width=384, depth=3):
        super().__init__()
        dims = [n_in] + [width] * depth
        self.hidden = nn.ModuleList([SpectralLinear(a, b) for a, b in zip(dims[:-1], dims[1:])])
        self.out = SpectralLinear(width, 1)

    def forward(self, x):
        for layer in self.hidden:
            x = F.softplus(layer(x), beta=5)
        return self.out(x).squeeze(-1)


def surface(x):
    return np.sin(1.5 * x[:, 0]) * np.cos(x[:, 1]) + 0.3 * x[:, 0]


def make_data(n, rng, noise=0.1):
    x = rng.uniform(-2, 2, size=(n, 2)).astype(np.float32)
    y = surface(x) + noise * rng.standard_normal(n)
    return torch.from_numpy(x), torch.from_numpy(y.astype(np.float32))


def fit(model, data, args):
    x, y = data
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.StepLR(opt, step_size=3, gamma=0.5)
    for epoch in range(args.epochs):
        model.train()
        order = torch.randperm(len(x))
        total, t0 = 0.0, time.time()
        for i in range(0, len(x), args.batch):
            idx = order[i:i + args.batch]
            loss = F.mse_loss(model(x[idx]), y[idx])
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        sched.step()
        yield epoch, total / len(x), time.time() - t0


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=9)
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--lr", type=float, default=2e-3)
    args = ap.parse_args()

    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    train = make_data(1600, rng)
    xv, yv = make_data(400, rng, noise=0.0)
    model = Regressor()
    for epoch, loss, secs in fit(model, train, args):
        model.eval()
        with torch.no_grad():
            val = F.mse_loss(model(xv), yv).item()
        print(f"epoch {epoch:2d}  train {loss:.4f}  val {val:.4f}")


if __name__ == "__main__":
    main()
