"""Predict the day of the first frost as a normal distribution per weather station.

TRUTH: the head returns the mean and scale with shape (N, 1) while the days have shape (N,), so log_prob broadcasts to (N, N) and every station is fitted to all days: the likelihood stays at that of a constant forecast; squeeze the last dimension.
"""
import torch
from torch import nn
from torch.distributions import Normal


class FrostModel(nn.Module):
    def __init__(self, features, width=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, width), nn.SiLU())
        self.head = nn.Linear(width, 2)

    def forward(self, x):
        loc, raw = self.head(self.body(x)).unbind(dim=-1)
        return Normal(loc, nn.functional.softplus(raw) + 1e-3)


def stations(n, gen):
    altitude = torch.rand(n, generator=gen) * 2
    latitude = torch.rand(n, generator=gen)
    coast = (torch.rand(n, generator=gen) < 0.3).float()
    day = 1.5 - altitude - 0.8 * latitude + 0.6 * coast
    day = day + 0.1 * (1 + altitude) * torch.randn(n, generator=gen)
    return torch.stack([altitude, latitude, coast], 1), day


class Fitter:
    def __init__(self, model, lr=1e-2):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def loss(self, batch):
        x, day = batch
        return -self.model(x).log_prob(day).mean()

    def fit(self, draw, steps):
        for step in range(steps):
            loss = self.loss(draw())
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if step % 40 == 0 or step == steps - 1:
                print(f"step {step:3d}  negative log likelihood {loss.item():.3f}")


def main():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(1)
    model = FrostModel(3)
    Fitter(model).fit(lambda: stations(128, gen), 200)
    with torch.no_grad():
        x, day = stations(1000, gen)
        means = model(x).mean.reshape(-1)
        print(f"rmse {(means - day).square().mean().sqrt().item():.3f}  std of days {day.std().item():.3f}")


if __name__ == "__main__":
    main()
