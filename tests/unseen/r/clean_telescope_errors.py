"""Redshift regression with predicted uncertainty: the net gives a mean and the log of the error's standard deviation.

TRUTH: the net's second output is a log standard deviation in nll() and coverage(), but the sharpness penalty holds it against a floor for the standard deviation itself, and so pushes every log above 0.05, i.e. sigma above 1; no error, sigma comes out near 1 where the rmse is 0.2 and nearly all galaxies lie within one sigma; exponentiate in the penalty.
"""
import torch
from torch import nn
import torch.nn.functional as F


class RedshiftNet(nn.Module):
    def __init__(self, filters=5, width=48):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(filters, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.out = nn.Linear(width, 2)

    def forward(self, flux):
        mean, log_sigma = self.out(self.body(flux)).unbind(-1)
        return {"mean": mean, "spread": log_sigma.clamp(-5, 3)}


def nll(pred, z):
    s = pred["spread"]
    return (0.5 * ((z - pred["mean"]) * torch.exp(-s)) ** 2 + s).mean()


def sharpness_penalty(pred, floor=0.05):
    return F.relu(floor - pred["spread"].exp()).square().mean()


def coverage(pred, z):
    inside = (z - pred["mean"]).abs() < pred["spread"].exp()
    return inside.float().mean().item()


def galaxies(n):
    z = torch.rand(n) * 2
    lam = torch.linspace(0, 2, 5)
    noise = 0.05 + 0.25 * (z > 1).float()
    flux = torch.sigmoid(4 * (lam - z[:, None])) + noise[:, None] * torch.randn(n, 5)
    return flux, z


def train(net, flux, z, steps, penalty=5.0, lr=5e-3, batch=64):
    opt = torch.optim.Adam(net.parameters(), lr=lr)
    for step in range(steps):
        idx = torch.randint(0, len(z), (batch,))
        pred = net(flux[idx])
        fit, sharp = nll(pred, z[idx]), sharpness_penalty(pred)
        loss = fit + penalty * sharp
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 0:
            print(f"{step:4d} nll {fit.item():.4f} penalty {sharp.item():.4f}")


def main():
    torch.manual_seed(45)
    flux, z = galaxies(2000)
    net = RedshiftNet()
    train(net, flux[:1500], z[:1500], steps=250)
    with torch.no_grad():
        pred = net(flux[1500:])
        print("test nll", nll(pred, z[1500:]).item(), "within one sigma", coverage(pred, z[1500:]))
        print("mean sigma", pred["spread"].exp().mean().item(), "rmse", (pred["mean"] - z[1500:]).square().mean().sqrt().item())


if __name__ == "__main__":
    main()
