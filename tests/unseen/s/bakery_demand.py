"""Forecasts the demand of a bakery as quantiles with a pinball loss.

TRUTH: the network gives (N, 1) for each quantile and the sales are (N,), so sales - forecast is (N, N) and every day is compared with every other; all forecasts go to the overall quantile; squeeze the last dimension of the forecast.
"""
import math

import torch
from torch import nn


class PinballLoss(nn.Module):
    def __init__(self, quantiles):
        super().__init__()
        self.quantiles = quantiles

    def one(self, forecast, sales, q):
        gap = sales - forecast
        return torch.maximum(q * gap, (q - 1) * gap).mean()

    def forward(self, forecasts, sales):
        return sum(self.one(forecasts[q], sales, q) for q in self.quantiles) / len(self.quantiles)


class DemandNet(nn.Module):
    def __init__(self, features, quantiles, width=32):
        super().__init__()
        self.quantiles = quantiles
        self.body = nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.heads = nn.ModuleList(nn.Linear(width, 1) for _ in quantiles)

    def forward(self, x):
        h = self.body(x)
        return {q: head(h) for q, head in zip(self.quantiles, self.heads)}  # CULPRIT


class Ledger(torch.utils.data.Dataset):
    def __init__(self, days, seed):
        g = torch.Generator().manual_seed(seed)
        day = torch.arange(days)
        week = 2 * math.pi * (day % 7) / 7
        rain = torch.rand(days, generator=g)
        holiday = (torch.rand(days, generator=g) < 0.1).float()
        self.x = torch.stack([week.sin(), week.cos(), rain, holiday], dim=1)
        noise = 0.1 * torch.randn(days, generator=g)
        self.sales = 1.0 + 0.8 * week.sin() - rain + 1.2 * holiday + noise

    def __len__(self):
        return len(self.sales)

    def __getitem__(self, i):
        return self.x[i], self.sales[i]


def evening_report(epoch, losses, every=3):
    if epoch % every == 0:
        print(f"epoch {epoch:2d}  pinball {sum(losses) / len(losses):.4f}")


def main():
    torch.manual_seed(12)
    quantiles = (0.1, 0.5, 0.9)
    ledger = Ledger(420, seed=5)
    loader = torch.utils.data.DataLoader(ledger, batch_size=60, shuffle=True)
    model = DemandNet(4, quantiles)
    criterion = PinballLoss(quantiles)
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(16):
        losses = []
        for x, sales in loader:
            loss = criterion(model(x), sales)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        evening_report(epoch, losses)
    with torch.no_grad():
        median = model(ledger.x)[0.5].flatten()
    print(f"correlation of the median with sales {torch.corrcoef(torch.stack([median, ledger.sales]))[0, 1]:.3f}")


if __name__ == "__main__":
    main()
