"""Predicts the delay of trams at every stop from the traffic along their way (recurrent, one delay per stop)."""
from typing import Any, Iterator, Mapping

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

CONFIG: Mapping[str, Any] = {"stops": 14, "channels": 4, "hidden": 24, "batch": 40, "trips": 800, "lr": 6e-3}


class Trips(IterableDataset):
    """Endless trips; a tram collects delay in jams and loses some of it at lights with priority."""

    def __init__(self, seed: int, stops: int, channels: int, limit: int):
        self.seed, self.stops, self.channels, self.limit = seed, stops, channels, limit

    def __iter__(self) -> Iterator[dict]:
        g = torch.Generator().manual_seed(self.seed)
        for _ in range(self.limit):
            road = torch.randn(self.stops, self.channels, generator=g)
            delay, trace = torch.zeros(()), []
            for jam, priority in zip(road[:, 0], road[:, 1]):
                delay = 0.8 * delay + torch.relu(jam) - 0.3 * torch.relu(priority) * delay.clamp(max=1.0)
                trace.append(delay)
            yield {"road": road, "delay": torch.stack(trace)}


class DelayNet(nn.Module):
    def __init__(self, channels, hidden):
        super().__init__()
        self.enter = nn.Linear(channels, hidden)
        self.cell = nn.GRUCell(hidden, hidden)
        self.leave = nn.Linear(hidden, 1)

    def roll(self, road):
        state = road.new_zeros(road.shape[1], self.cell.hidden_size)
        for at_stop in torch.relu(self.enter(road)):
            state = self.cell(at_stop, state)
            yield self.leave(state).squeeze(-1)

    def forward(self, road):
        return torch.stack(list(self.roll(road.transpose(0, 1))))


class Criterion:
    """Smooth absolute error over the stops that count."""

    def __init__(self, beta=0.5, skip=1):
        self.beta, self.skip = beta, skip

    def select(self, delay):
        mask = torch.ones_like(delay, dtype=torch.bool)
        mask[:, : self.skip] = False
        return mask.flatten()

    def __call__(self, model, batch):
        delay = batch["delay"]
        keep = self.select(delay)
        guess = model(batch["road"]).transpose(0, 1).flatten()[keep]
        return nn.functional.smooth_l1_loss(guess, delay.flatten()[keep], beta=self.beta)


def correlation(a, b):
    a, b = a - a.mean(), b - b.mean()
    return ((a * b).sum() / (a.norm() * b.norm()).clamp_min(1e-9)).item()


@torch.no_grad()
def validate(model, loader):
    model.eval()
    guess, real = [], []
    for batch in loader:
        guess.append(model(batch["road"])[-1])
        real.append(batch["delay"][:, -1])
    model.train()
    return correlation(torch.cat(guess), torch.cat(real))


def loader(cfg, seed, limit):
    return DataLoader(Trips(seed, cfg["stops"], cfg["channels"], limit), batch_size=cfg["batch"])


def main(cfg=CONFIG):
    torch.manual_seed(0)
    model = DelayNet(cfg["channels"], cfg["hidden"])
    criterion = Criterion()
    opt = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    held_out = list(loader(cfg, 100, 200))
    for epoch in range(6):
        total, count = 0.0, 0
        for batch in loader(cfg, epoch, cfg["trips"]):
            loss = criterion(model, batch)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            total, count = total + loss.item(), count + 1
        print(f"epoch {epoch} loss {total / count:.4f} correlation at the last stop {validate(model, held_out):.3f}")


if __name__ == "__main__":
    main()
