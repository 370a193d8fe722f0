"""Mixture of catchment experts for daily river discharge, with early stopping on the best snapshot.

TRUTH: `GatedMixture.forward` keeps the gate weights in `self.report` with
their graph, so the deepcopy that the snapshot callback makes after the first
epoch raises (only leaf tensors can be deep-copied). The report is only read
for printing: keep `gate.detach()` there.
"""
from __future__ import annotations

import copy
from dataclasses import dataclass, field

import torch
from torch import nn
import torch.nn.functional as F


@dataclass
class GateReport:
    entries: dict[str, torch.Tensor] = field(default_factory=dict)

    def put(self, **tensors):
        for name, value in tensors.items():
            self.entries[name] = value

    def usage(self):
        gate = self.entries.get("gate")
        return [] if gate is None else [round(v, 3) for v in gate.mean(0).tolist()]


class Expert(nn.Sequential):
    def __init__(self, width, hidden):
        super().__init__(nn.Linear(width, hidden), nn.Tanh(), nn.Linear(hidden, 1))


class GatedMixture(nn.Module):
    def __init__(self, width=6, hidden=16, experts=3):
        super().__init__()
        self.experts = nn.ModuleList(Expert(width, hidden) for _ in range(experts))
        self.router = nn.Linear(width, experts)
        self.report = GateReport()

    def forward(self, x):
        gate = F.softmax(self.router(x), dim=-1)
        flows = torch.cat([e(x) for e in self.experts], dim=-1)
        self.report.put(gate=gate, spread=flows.detach().std(-1))  # CULPRIT
        return (gate * flows).sum(-1)


class Snapshot:
    """Keeps the model with the lowest validation loss."""

    def __init__(self, patience=6):
        self.patience, self.best, self.model, self.bad = patience, float("inf"), None, 0

    def __call__(self, model, score):
        if score < self.best - 1e-4:
            self.best, self.bad = score, 0
            self.model = copy.deepcopy(model)
        else:
            self.bad += 1
        return self.bad >= self.patience


def catchments(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 6, generator=g)
    snow = x[:, 0] > 0
    y = torch.where(snow, 1.5 * x[:, 1] - x[:, 2], x[:, 3] * x[:, 4])
    return x, y + 0.05 * torch.randn(n, generator=g)


def batches(x, y, size, g):
    order = torch.randperm(len(x), generator=g)
    for part in order.split(size):
        yield x[part], y[part]


def nash_sutcliffe(pred, obs):
    return 1 - ((pred - obs) ** 2).sum() / ((obs - obs.mean()) ** 2).sum()


def run_epoch(model, opt, x, y, g):
    model.train()
    total = 0.0
    for xb, yb in batches(x, y, 64, g):
        opt.zero_grad(set_to_none=True)
        loss = F.huber_loss(model(xb), yb)
        loss.backward()
        opt.step()
        total += loss.item() * len(xb)
    return total / len(x)


def main():
    torch.manual_seed(3)
    g = torch.Generator().manual_seed(9)
    x, y = catchments(768, 1)
    xv, yv = catchments(256, 2)
    model = GatedMixture()
    opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
    keep = Snapshot()
    with torch.no_grad():
        start = F.huber_loss(model(xv), yv).item()
    print(f"before training: {start:.4f}")
    for epoch in range(30):
        train = run_epoch(model, opt, x, y, g)
        usage = model.report.usage()
        if keep(model, train):
            break
        model.eval()
        with torch.no_grad():
            pred = model(xv)
            valid = F.huber_loss(pred, yv).item()
        if epoch % 5 == 0:
            print(f"{epoch:3d} train {train:.4f} valid {valid:.4f} gates {usage}")
    keep.model.eval()
    with torch.no_grad():
        print(f"best NSE {nash_sutcliffe(keep.model(xv), yv):.3f}")


if __name__ == "__main__":
    main()
