"""Predicts quantiles of parcel delivery times with the pinball loss.

TRUTH: the pinball loss is averaged over the parcels only and leaves one value per quantile, so backward raises "grad can be implicitly created only for scalar outputs"; average over both dimensions.
"""
from functools import partial

import torch
from torch import nn

QUANTILES = torch.tensor([0.1, 0.5, 0.9])


def pinball(prediction, target, quantiles, reduce):
    error = target.unsqueeze(-1) - prediction
    return reduce(torch.maximum(quantiles * error, (quantiles - 1) * error))


class QuantileRegressor(nn.Module):
    criterion = staticmethod(partial(pinball, quantiles=QUANTILES, reduce=torch.mean))

    def __init__(self, inputs):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(inputs, 32), nn.Softplus())
        self.low = nn.Linear(32, 1)
        self.gaps = nn.Linear(32, len(QUANTILES) - 1)

    def forward(self, x):
        h = self.trunk(x)
        steps = nn.functional.softplus(self.gaps(h))
        return torch.cat([self.low(h), steps], dim=-1).cumsum(dim=-1)

    def training_step(self, batch):
        x, hours = batch
        return self.criterion(self(x), hours)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


class ParcelData(torch.utils.data.Dataset):
    def __init__(self, n):
        self.x = torch.rand(n, 3)
        rush = torch.distributions.Exponential(1 / (0.5 + 2 * self.x[:, 1])).sample()
        self.hours = 2 + 5 * self.x[:, 0] + rush

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.hours[i]


def fit(model, loader, epochs):
    opt = model.configure_optimizers()
    for epoch in range(epochs):
        for batch in loader:
            opt.zero_grad()
            loss = model.training_step(batch)
            loss.backward()
            opt.step()
        print(f"epoch {epoch} loss {loss.item():.3f}")


if __name__ == "__main__":
    torch.manual_seed(1)
    data = ParcelData(640)
    model = QuantileRegressor(3)
    fit(model, torch.utils.data.DataLoader(data, batch_size=64, shuffle=True), epochs=8)
    covered = (data.hours.unsqueeze(-1) <= model(data.x)).float().mean(dim=0)
    print("share below each quantile", [round(v, 2) for v in covered.tolist()])
