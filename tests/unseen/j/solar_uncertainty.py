# kind: broadcast_loss_manual
"""Forecast of solar power with an input-dependent uncertainty."""
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def solar_days(n, seed=0):
    """Hour of day, cloud cover and panel temperature -> power."""
    gen = torch.Generator().manual_seed(seed)
    hour = torch.rand(n, generator=gen) * 24
    cloud = torch.rand(n, generator=gen)
    temp = torch.randn(n, generator=gen)
    sun = torch.sin(math.pi * (hour - 6) / 12).clamp(min=0)
    power = sun * (1 - 0.7 * cloud) - 0.03 * temp
    power = power + (0.02 + 0.15 * cloud * sun) * torch.randn(n, generator=gen)
    angle = 2 * math.pi * hour / 24
    features = torch.stack([angle.sin(), angle.cos(), cloud * 2 - 1, temp], dim=1)
    return features, power


class GaussianHead(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mean = nn.Linear(width, 1)
        self.log_var = nn.Linear(width, 1)

    def forward(self, h):
        return {"mean": self.mean(h), "log_var": self.log_var(h).clamp(-8, 4)}


class Forecaster(nn.Module):
    def __init__(self, d_in=4, width=48):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(d_in, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.head = GaussianHead(width)

    def forward(self, x):
        return self.head(self.trunk(x))


def gaussian_nll(out, power):
    """Heteroscedastic negative log likelihood without the constant."""
    mean, log_var = out["mean"], out["log_var"]  # CULPRIT
    return 0.5 * (log_var + (power - mean) ** 2 * torch.exp(-log_var)).mean()


class Run:
    def __init__(self, train, valid):
        self.loader = DataLoader(train, batch_size=64, shuffle=True)
        self.valid = valid
        self.model = Forecaster()
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=3e-3, weight_decay=1e-4)

    def epoch(self):
        total = 0.0
        for x, power in self.loader:
            loss = gaussian_nll(self.model(x), power)
            self.opt.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
            self.opt.step()
            total += loss.item()
        return total / len(self.loader)

    @torch.no_grad()
    def rmse(self):
        x, power = self.valid.tensors
        return (self.model(x)["mean"].flatten() - power).pow(2).mean().sqrt().item()


if __name__ == "__main__":
    torch.manual_seed(0)
    run = Run(TensorDataset(*solar_days(1024)), TensorDataset(*solar_days(256, seed=1)))
    spread = run.valid.tensors[1].std().item()
    for k in range(8):
        print(f"epoch {k} nll {run.epoch():.4f} rmse {run.rmse():.4f} (spread {spread:.4f})")
