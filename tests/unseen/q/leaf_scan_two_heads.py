"""Adds a second head (scan orientation) to a trained leaf-outline classifier without touching the species head.

TRUTH: everything but the new head is frozen by requires_grad=False, but tune_orientation puts the whole model in train
mode, so the BatchNorm layers of the frozen trunk keep updating their running mean and variance on the orientation data
(brighter, differently scaled scans). No parameter changes, yet the species head loses accuracy. Fix: after
model.train() put the frozen trunk (its BatchNorm layers) in eval mode: model.trunk.eval().
Drawn from https://discuss.pytorch.org/t/how-can-i-add-an-additional-output-head-without-losing-performance-on-original-head/189902.
"""
import argparse
import copy
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

SPECIES, TURNS, POINTS = 5, 4, 48


def scan(n, seed, gain=1.0, offset=0.0):
    """Radius profiles of leaf outlines; the species sets the lobes, the turn shifts a notch at the stem."""
    g = torch.Generator().manual_seed(seed)
    species = torch.randint(0, SPECIES, (n,), generator=g)
    turn = torch.randint(0, TURNS, (n,), generator=g)
    phi = torch.arange(POINTS) * 2 * math.pi / POINTS
    phase = 2 * math.pi * torch.rand(n, 1, generator=g)
    r = 1 + 0.4 * torch.cos((species[:, None] + 2) * phi + phase)
    stem = (turn[:, None] * (math.pi / 2)) + 0.3 * torch.randn(n, 1, generator=g)
    r = r - 0.8 * torch.exp(4 * (torch.cos(phi - stem) - 1))
    r = gain * (r + 0.15 * torch.randn(n, POINTS, generator=g)) + offset
    return r[:, None], species, turn


def conv(n_in, n_out, stride=1):
    return nn.Sequential(nn.Conv1d(n_in, n_out, 5, stride, 2, padding_mode="circular", bias=False),
                         nn.BatchNorm1d(n_out), nn.ReLU())


class LeafNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(conv(1, 16), conv(16, 24, 2), conv(24, 24, 2))
        self.species = nn.Sequential(nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Linear(24, SPECIES))

    def forward(self, x, head="species"):
        return getattr(self, head)(self.trunk(x))


def fit(model, data, head, epochs, lr, batch=64):
    x, y = data
    opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=lr)
    for epoch in range(epochs):
        total = 0.0
        for idx in torch.randperm(len(x)).split(batch):
            loss = F.cross_entropy(model(x[idx], head), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        if epoch % 3 == 2:
            print(f"  [{head}] epoch {epoch} loss {total / len(x):.4f}")


def tune_orientation(model, data, epochs):
    for p in model.parameters():
        p.requires_grad = False
    model.orientation = nn.Sequential(nn.Flatten(), nn.Linear(24 * POINTS // 4, TURNS))
    model.train()  # CULPRIT
    fit(model, data, "orientation", epochs, lr=2e-3)


@torch.no_grad()
def accuracy(model, x, y, head):
    model.eval()
    return (model(x, head).argmax(1) == y).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=9)
    args = ap.parse_args()
    torch.manual_seed(0)
    x, species, _ = scan(1500, 1)
    vx, vspecies, _ = scan(500, 2)
    model = LeafNet()
    model.train()
    fit(model, (x, species), "species", args.epochs, lr=3e-3)
    print(f"species accuracy after stage one: {accuracy(model, vx, vspecies, 'species'):.3f}")
    before = copy.deepcopy(dict(model.named_parameters()))
    ox, _, turn = scan(1500, 3, gain=1.6, offset=0.7)
    tx, _, tturn = scan(500, 4, gain=1.6, offset=0.7)
    tune_orientation(model, (ox, turn), args.epochs)
    drift = max((p - before[n]).abs().max().item() for n, p in model.named_parameters() if n in before)
    print(f"orientation accuracy: {accuracy(model, tx, tturn, 'orientation'):.3f}")
    print(f"largest change of an old parameter: {drift:.1e}")
    print(f"species accuracy after stage two: {accuracy(model, vx, vspecies, 'species'):.3f}")


if __name__ == "__main__":
    main()
