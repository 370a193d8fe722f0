# kind: no_grad_view_inplace
import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

HORIZON, HISTORY, HIDDEN = 12, 24, 32


def electricity(n_days=60):
    """Hourly load of a made up town: daily and weekly rhythm and noise."""
    t = torch.arange(n_days * 24, dtype=torch.float32)
    load = torch.sin(2 * math.pi * t / 24) + 0.4 * torch.cos(2 * math.pi * t / 168)
    return load + 0.05 * torch.randn(t.shape)


def windows(series):
    w = series.unfold(0, HISTORY + HORIZON, 3)
    return w[:, :HISTORY].contiguous(), w[:, HISTORY:].contiguous()


class OutputTape:
    """Preallocated output of a decoder that is filled one column per step."""

    def __init__(self, batch, steps, like):
        self.data = torch.zeros(batch, steps, dtype=like.dtype, device=like.device)

    @torch.no_grad()  # CULPRIT
    def column(self, t):
        return self.data[:, t]

    def write(self, t, value):
        self.column(t).copy_(value)


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.GRU(1, HIDDEN, batch_first=True)
        self.cell = nn.GRUCell(1, HIDDEN)
        self.readout = nn.Linear(HIDDEN, 1)

    def forward(self, history):
        _, h = self.encoder(history.unsqueeze(-1))
        h = h[0]
        last = history[:, -1:]
        tape = OutputTape(history.size(0), HORIZON, like=history)
        for t in range(HORIZON):
            h = self.cell(last, h)
            last = last + self.readout(h)
            tape.write(t, last.squeeze(-1))
        return tape.data


def run_epoch(model, loader, criterion, optimizer):
    model.train()
    total = 0.0
    for past, future in loader:
        optimizer.zero_grad()
        loss = criterion(model(past), future)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item() * len(past)
    return total / len(loader.dataset)


if __name__ == "__main__":
    torch.manual_seed(7)
    past, future = windows(electricity())
    loader = DataLoader(TensorDataset(past, future), batch_size=64, shuffle=True)
    model = Seq2Seq()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
    for epoch in range(4):
        print(f"epoch {epoch} mse {run_epoch(model, loader, nn.MSELoss(), optimizer):.4f}")
