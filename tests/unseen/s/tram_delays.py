"""Learns the delays of trams per line and hour, with gradients accumulated over several batches.

TRUTH: an epoch has only 6 batches, but the optimizer steps after every 8th batch of an epoch, and each epoch starts with zero_grad(), so gradients are computed and cleared and no step is ever made; accumulate over fewer batches (2), or step at the end of the epoch too.
"""
import math
from collections import defaultdict
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class FitOptions:
    epochs: int = 20
    batch: int = 64
    lr: float = 1e-2
    accumulate: int = 8  # CULPRIT


class DelayNet(nn.Module):
    def __init__(self, lines):
        super().__init__()
        self.line = nn.Embedding(lines, 6)
        self.net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, line, hour):
        angle = hour * (2 * math.pi / 24)
        x = torch.cat([self.line(line), angle.sin()[:, None], angle.cos()[:, None]], dim=1)
        return self.net(x).squeeze(1)


class Trainer:
    events = ("epoch_start", "backward_end", "epoch_end")

    def __init__(self, model, options):
        self.model, self.options = model, options
        self.optimizer = torch.optim.Adam(model.parameters(), lr=options.lr)
        self.handlers = defaultdict(list)

    def on(self, event, handler):
        assert event in self.events
        self.handlers[event].append(handler)
        return self

    def emit(self, event, **info):
        for handler in self.handlers[event]:
            handler(self, **info)

    def fit(self, loader):
        for epoch in range(self.options.epochs):
            self.emit("epoch_start", epoch=epoch)
            total = 0.0
            for count, (line, hour, delay) in enumerate(loader, start=1):
                loss = nn.functional.mse_loss(self.model(line, hour), delay)
                (loss / self.options.accumulate).backward()
                total += loss.item()
                self.emit("backward_end", count=count)
            self.emit("epoch_end", epoch=epoch, loss=total / count)


def clear(trainer, **_):
    trainer.optimizer.zero_grad()


def step_when_due(trainer, count, **_):
    if count % trainer.options.accumulate == 0:  # CULPRIT
        trainer.optimizer.step()
        trainer.optimizer.zero_grad()


def report(trainer, epoch, loss, **_):
    if epoch % 4 == 0 or epoch == trainer.options.epochs - 1:
        print(f"epoch {epoch:2d}  mse {loss:.4f}")


def main():
    torch.manual_seed(30)
    g = torch.Generator().manual_seed(31)
    line = torch.randint(9, (384,), generator=g)
    hour = torch.randint(24, (384,), generator=g).float()
    habit = torch.randn(9, generator=g)
    delay = habit[line] + torch.sin(hour * math.pi / 6) * 0.5 + 0.1 * torch.randn(384, generator=g)
    options = FitOptions()
    loader = DataLoader(TensorDataset(line, hour, delay), batch_size=options.batch, shuffle=True)
    trainer = Trainer(DelayNet(9), options)
    trainer.on("epoch_start", clear).on("backward_end", step_when_due).on("epoch_end", report)
    trainer.fit(loader)


if __name__ == "__main__":
    main()
