"""Calibrates a gas sensor: mean and noise level of the reading as functions of humidity and temperature, in two stages.

TRUTH: Right as it stands. Stage 1 trains the mean with squared error while the noise net is frozen; stage 2 trains both with the
beta-NLL, whose weight sigma^(2*beta) is detached on purpose (it only weights the samples), with a new optimizer after the noise
net has been unfrozen. The noise net reads the features detached, so it does not disturb the mean's features. The loss becomes
negative; that is normal for a density.
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class Calibration(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.mean = nn.Linear(width, 1)
        self.noise = nn.Sequential(nn.Linear(width, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, x):
        h = self.features(x)
        log_var = self.noise(h.detach())[:, 0].clamp(-9, 3)
        return self.mean(h)[:, 0], log_var


def beta_nll(mean, log_var, y, beta=0.5):
    nll = 0.5 * (log_var + (y - mean).square() * (-log_var).exp())
    return (nll * log_var.detach().mul(beta).exp()).mean()


def readings(n, g):
    x = 2 * torch.rand(n, 2, generator=g) - 1
    mean = torch.sin(3 * x[:, 0]) + 0.5 * x[:, 0] * x[:, 1]
    sigma = 0.05 + 0.35 * torch.sigmoid(4 * x[:, 1])
    return x, mean + sigma * torch.randn(n, generator=g), mean, sigma


def report(net, data, stage, epoch, loss):
    x, y, mean, sigma = data
    with torch.no_grad():
        m, log_var = net(x)
        s = (0.5 * log_var).exp()
        inside = ((y - m).abs() < 1.645 * s).float().mean().item()
        print(f"{stage} epoch {epoch:2d}  loss {loss:.4f}  mean rmse {(m - mean).square().mean().sqrt():.3f}  "
              f"sigma error {(s - sigma).abs().mean():.3f}  inside the 90% band {inside:.3f}")


def epoch_of(data, batch, g):
    for idx in torch.randperm(len(data[0]), generator=g).split(batch):
        yield data[0][idx], data[1][idx]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--warm", type=int, default=12)
    p.add_argument("--epochs", type=int, default=30)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--lr", type=float, default=5e-3)
    args = p.parse_args()
    torch.manual_seed(6)
    g = torch.Generator().manual_seed(36)
    data, val = readings(2500, g), readings(1000, g)
    net = Calibration()

    net.noise.requires_grad_(False)
    opt = torch.optim.Adam([w for w in net.parameters() if w.requires_grad], lr=args.lr)
    for epoch in range(1, args.warm + 1):
        total = 0.0
        for x, y in epoch_of(data, args.batch, g):
            loss = F.mse_loss(net(x)[0], y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(x)
        if epoch % 6 == 0:
            report(net, val, "stage 1", epoch, total / len(data[0]))

    net.noise.requires_grad_(True)
    opt = torch.optim.Adam(net.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.epochs)
    for epoch in range(1, args.epochs + 1):
        total = 0.0
        for x, y in epoch_of(data, args.batch, g):
            loss = beta_nll(*net(x), y)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 2.0)
            opt.step()
            total += loss.item() * len(x)
        sched.step()
        if epoch % 6 == 0:
            report(net, val, "stage 2", epoch, total / len(data[0]))


if __name__ == "__main__":
    main()
