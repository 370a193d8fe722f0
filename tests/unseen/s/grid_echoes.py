"""Trains a detector of patterns in a sliding record of sensor readings that is shifted by one reading per tick.

TRUTH: Record.push scales columns 0..-1 of the buffer into columns 1.. of the same buffer: source and destination overlap, so it reads what it has just written and readings are repeated and lost in the record; shift a clone, or use torch.roll.
"""
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Layout:
    sensors: int = 6
    length: int = 24
    lr: float = 3e-3


class Record:
    """The last readings of each sensor, newest first."""

    def __init__(self, layout, gain=1.0):
        self.memory = torch.zeros(layout.sensors, layout.length)
        self.gain = gain

    def push(self, reading):
        newer, older = self.memory[:, :-1], self.memory[:, 1:]
        torch.mul(newer, self.gain, out=older)  # CULPRIT
        self.memory[:, 0] = reading
        return self

    def snapshot(self):
        return self.memory.clone()


class Site:
    """Sensors that see a pulse travelling over them, in one of two directions."""

    def __init__(self, layout, seed):
        self.layout = layout
        self.rng = torch.Generator().manual_seed(seed)

    def readings(self, label):
        start = int(torch.randint(0, 8, (1,), generator=self.rng))
        place = torch.arange(self.layout.sensors, dtype=torch.float32)
        for tick in range(self.layout.length):
            at = (tick - start) * 0.4
            front = at if label else self.layout.sensors - 1 - at
            noise = 0.3 * torch.randn(self.layout.sensors, generator=self.rng)
            yield torch.exp(-(place - front) ** 2) + noise

    def batch(self, size):
        labels = torch.randint(0, 2, (size,), generator=self.rng)
        views = []
        for label in labels.tolist():
            record = Record(self.layout, gain=0.97)
            for reading in self.readings(label):
                record.push(reading)
            views.append(record.snapshot())
        return torch.stack(views), labels


class Detector(nn.Module):
    def __init__(self, layout, channels=16):
        super().__init__()
        self.conv = nn.Conv1d(layout.sensors, channels, 5, padding=2)
        self.head = nn.Linear(channels, 2)

    def forward(self, views):
        return self.head(torch.relu(self.conv(views)).amax(-1))


def main():
    torch.manual_seed(7)
    layout = Layout()
    site, model = Site(layout, seed=1), Detector(layout)
    optimizer = torch.optim.Adam(model.parameters(), lr=layout.lr)
    for step in range(40):
        views, labels = site.batch(24)
        scores = model(views)
        loss = nn.functional.cross_entropy(scores, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 8 == 7:
            hits = (scores.argmax(1) == labels).float().mean().item()
            print(f"step {step + 1:3d}  loss {loss.item():.4f}  accuracy {hits:.3f}")


if __name__ == "__main__":
    main()
