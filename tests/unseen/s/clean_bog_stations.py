"""Estimates an offset for each measuring station of a peat bog, together with a response to rain, from water levels."""
import torch
from torch import nn
from torch.autograd import Function


class RowLookup(Function):
    """Rows of a table, scaled by how far each reading can be trusted."""

    @staticmethod
    def forward(ctx, table, rows, trust):
        ctx.save_for_backward(rows, trust)
        ctx.stations = table.shape[0]
        return table[rows] * trust[:, None]

    @staticmethod
    def backward(ctx, upstream):
        rows, trust = ctx.saved_tensors
        scaled = upstream * trust[:, None]
        table = upstream.new_zeros(ctx.stations, upstream.shape[1])
        return table.index_add(0, rows, scaled), None, None


class StationTable(nn.Module):
    def __init__(self, stations, width):
        super().__init__()
        self.table = nn.Parameter(0.1 * torch.randn(stations, width))

    def forward(self, rows, trust):
        return RowLookup.apply(self.table, rows, trust)


class LevelModel(nn.Module):
    def __init__(self, stations, width=4, drivers=3):
        super().__init__()
        self.stations = StationTable(stations, width)
        self.drivers = nn.Linear(drivers, width)
        self.readout = nn.Linear(width, 1)

    def forward(self, reading):
        local = self.stations(reading["station"], reading["trust"])
        return self.readout(torch.tanh(local + self.drivers(reading["weather"]))).squeeze(-1)


class Readings:
    """Synthetic readings of water levels: a station, three weather drivers, a level."""

    def __init__(self, stations, count, seed):
        rng = torch.Generator().manual_seed(seed)
        self.station = torch.randint(stations, (count,), generator=rng)
        self.weather = torch.randn(count, 3, generator=rng)
        self.trust = 0.5 + 0.5 * torch.rand(count, generator=rng)
        offset = torch.linspace(-1.0, 1.0, stations)
        slope = torch.tensor([0.5, -0.3, 0.1])
        noise = 0.05 * torch.randn(count, generator=rng)
        self.level = offset[self.station] + self.weather @ slope + noise

    def batches(self, size, seed):
        order = torch.randperm(len(self.level), generator=torch.Generator().manual_seed(seed))
        for picked in order.split(size):
            yield {"station": self.station[picked], "trust": self.trust[picked],
                   "weather": self.weather[picked], "level": self.level[picked]}


def run_epoch(model, readings, optimizer, seed):
    total, seen = 0.0, 0
    for reading in readings.batches(64, seed):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(reading), reading["level"])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(reading["level"])
        seen += len(reading["level"])
    return total / seen


def main():
    torch.manual_seed(0)
    readings = Readings(stations=24, count=512, seed=5)
    model = LevelModel(stations=24)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    for epoch in range(7):
        print(f"epoch {epoch}  loss {run_epoch(model, readings, optimizer, epoch):.4f}")


if __name__ == "__main__":
    main()
