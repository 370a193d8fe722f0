# kind: first_sample_only
"""Probabilistic load forecast: three quantiles for the next day, pinball loss."""
import math

import torch
from torch import nn

QUANTILES = torch.tensor([0.1, 0.5, 0.9])


def load_curves(n, past=24, future=8):
    t = torch.arange(past + future).float()
    phase, size = 6.28 * torch.rand(n, 1), 0.5 + torch.rand(n, 1)
    y = size * torch.sin(2 * math.pi * t / 24 + phase) + 0.1 * torch.randn(n, past + future)
    return y[:, :past], y[:, past:]


class Forecaster(nn.Module):
    def __init__(self, future=8, hidden=32):
        super().__init__()
        self.future = future
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, future * len(QUANTILES))

    def forward(self, past):
        out, _ = self.rnn(past.unsqueeze(-1))
        return self.head(out[:, -1]).view(-1, self.future, len(QUANTILES))


def pinball(forecast, actual):
    gap = actual.unsqueeze(-1) - forecast
    return torch.maximum(QUANTILES * gap, (QUANTILES - 1) * gap).mean()


class Experiment:
    def __init__(self, model, lr=5e-3):
        self.model = model
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)

    def loss(self, batch):
        past, future = batch
        forecast = self.model(past)[0]  # CULPRIT
        return pinball(forecast, future)

    def step(self, batch):
        loss = self.loss(batch)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()

    @torch.no_grad()
    def median_error(self, past, future):
        self.model.eval()
        error = (self.model(past)[..., 1] - future).abs().mean().item()
        self.model.train()
        return error


def main():
    torch.manual_seed(0)
    past, future = load_curves(1024)
    test = load_curves(256)
    run = Experiment(Forecaster())
    print(f"mean absolute load {test[1].abs().mean().item():.3f}")
    for epoch in range(8):
        losses = [run.step((past[i], future[i])) for i in torch.randperm(1024).split(64)]
        if epoch % 2:
            print(f"epoch {epoch}: pinball {sum(losses) / len(losses):.4f} median error {run.median_error(*test):.4f}")


if __name__ == "__main__":
    main()
