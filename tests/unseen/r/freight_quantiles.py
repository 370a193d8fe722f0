"""Forecast freight prices as three quantiles with a pinball loss over a table of loads.

TRUTH: the price column keeps its second axis, so (N,) quantile forecasts are subtracted from (N, 1) targets and every load is compared with every other; no error, forecasts collapse to the overall quantiles (correlation with price near 0, loss stuck); squeeze the column.
"""
import numpy as np
import torch
from torch import nn

COLUMNS = ["distance", "weight", "fuel", "urgent", "price"]
QUANTILES = (0.1, 0.5, 0.9)


def load_table(n, seed):
    rng = np.random.default_rng(seed)
    distance = rng.gamma(3, 1, n)
    weight = rng.uniform(0, 2, n)
    fuel = rng.normal(0, 1, n)
    urgent = rng.integers(0, 2, n)
    price = distance * (1 + 0.3 * fuel.clip(-1, 1)) + weight + urgent + rng.normal(0, 0.3, n)
    return np.stack([distance, weight, fuel, urgent, price], 1).astype(np.float32)


def split(table):
    col = COLUMNS.index("price")
    x = torch.from_numpy(table[:, :col])
    price = torch.from_numpy(table[:, col:])  # CULPRIT
    return x, price


def pinball(forecast, price, q):
    e = price - forecast
    return torch.maximum(q * e, (q - 1) * e).mean()


class QuantileNet(nn.Module):
    def __init__(self, n_features):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_features, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.heads = nn.Linear(32, len(QUANTILES))

    def forward(self, x):
        return self.heads(self.body(x)).unbind(dim=1)


def main():
    torch.manual_seed(2)
    x, price = split(load_table(512, 2))
    net = QuantileNet(x.shape[1])
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for step in range(200):
        loss = sum(pinball(f, price, q) for f, q in zip(net(x), QUANTILES))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 0 or step == 199:
            print(f"step {step:3d} pinball {loss.item():.4f}")
    with torch.no_grad():
        median = net(x)[1]
    r = np.corrcoef(median.numpy(), price.numpy().ravel())[0, 1]
    print(f"correlation of the median forecast with the price {r:.3f}")


if __name__ == "__main__":
    main()
