"""Guess the meter of verse lines with a deep network built from a layer plan.

TRUTH: the list of layers is multiplied, so the hidden part holds one Linear many times instead of many of them (the model prints far fewer parameters than planned); make the layers anew in each turn of a comprehension.
"""
import argparse

import torch
import torch.nn.functional as F
from torch import nn


class MeterNet(nn.Module):
    def __init__(self, syllables, meters, width, depth):
        super().__init__()
        self.enter = nn.Linear(syllables, width)
        hidden = [nn.Linear(width, width), nn.LayerNorm(width), nn.GELU()] * depth  # CULPRIT
        self.hidden = nn.Sequential(*hidden)
        self.leave = nn.Linear(width, meters)

    def forward(self, stress):
        return self.leave(self.hidden(self.enter(stress)))


def planned_parameters(syllables, meters, width, depth):
    enter, leave = (syllables + 1) * width, (width + 1) * meters
    return enter + leave + depth * ((width + 1) * width + 2 * width)


PATTERNS = {"iamb": [0, 1], "trochee": [1, 0], "dactyl": [1, 0, 0], "anapaest": [0, 0, 1]}


def verses(n, gen, syllables=12):
    rows = [(p * syllables)[:syllables] for p in PATTERNS.values()]
    clean = torch.tensor(rows, dtype=torch.float32)
    meter = torch.randint(0, len(rows), (n,), generator=gen)
    flips = (torch.rand(n, syllables, generator=gen) < 0.15).float()
    return (clean[meter] - flips).abs(), meter


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--steps", type=int, default=120)
    args = parser.parse_args()
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(1)
    model = MeterNet(12, len(PATTERNS), args.width, args.depth)
    count = sum(p.numel() for p in model.parameters())
    planned = planned_parameters(12, len(PATTERNS), args.width, args.depth)
    print(f"{count} parameters, {planned} planned")
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(args.steps):
        stress, meter = verses(64, gen)
        loss = F.cross_entropy(model(stress), meter)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 30 == 0 or step == args.steps - 1:
            print(f"step {step:3d}  loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
