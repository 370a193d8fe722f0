# kind: saturated_tanh
"""Surrogate of a boiler: heat output from pressure, temperature and flow."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split


class BoilerLog(Dataset):
    """Sensor log: pressure in Pa, temperature in K, flow in g/s."""

    def __init__(self, n, seed=0):
        gen = torch.Generator().manual_seed(seed)
        pressure = 4e5 + 5e4 * torch.randn(n, generator=gen)
        temperature = 430 + 12 * torch.randn(n, generator=gen)
        flow = 900 + 150 * torch.randn(n, generator=gen)
        self.raw = torch.stack([pressure, temperature, flow], dim=1)
        z = (self.raw - self.raw.mean(0)) / self.raw.std(0)
        self.heat = (0.8 * z[:, 2] + 0.5 * z[:, 0] * z[:, 1] + 0.1 * torch.randn(n, generator=gen)).unsqueeze(1)

    def __len__(self):
        return len(self.raw)

    def __getitem__(self, i):
        return self.raw[i], self.heat[i]


class Standardize(nn.Module):
    """Keeps the statistics of the training inputs next to the network."""

    def __init__(self, dim):
        super().__init__()
        self.register_buffer("mean", torch.zeros(dim))
        self.register_buffer("std", torch.ones(dim))

    def fit(self, rows):
        mean, std = rows.mean(0), rows.std(0)  # CULPRIT
        return self

    def forward(self, x):
        return (x - self.mean) / self.std


def build_surrogate(rows, width=32):
    return nn.Sequential(
        Standardize(rows.shape[1]).fit(rows),
        nn.Linear(rows.shape[1], width), nn.Tanh(),
        nn.Linear(width, width), nn.Tanh(),
        nn.Linear(width, 1))


def evaluate(model, loader):
    model.eval()
    with torch.no_grad():
        err = [(model(x) - y).pow(2) for x, y in loader]
    model.train()
    return torch.cat(err).mean().item()


def main():
    torch.manual_seed(0)
    log = BoilerLog(900)
    train, valid = random_split(log, [700, 200])
    loader = DataLoader(train, batch_size=50, shuffle=True)
    valid_loader = DataLoader(valid, batch_size=200)
    model = build_surrogate(log.raw[train.indices])
    opt = torch.optim.NAdam(model.parameters(), lr=4e-3)
    for epoch in range(8):
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"epoch {epoch} train {loss.item():.4f} valid {evaluate(model, valid_loader):.4f} "
              f"first layer grad {model[1].weight.grad.abs().sum():.2e}")


if __name__ == "__main__":
    main()
