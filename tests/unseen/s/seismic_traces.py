"""Fills gaps in seismic traces with a small encoder-decoder that shrinks and enlarges the time axis.

TRUTH: the enlarging step asks interpolate for the mode "bilinear", which exists only for images, and the traces are 3-D (batch, channels, time), so the call is refused (NotImplementedError); use "linear".
"""
from dataclasses import asdict, dataclass

import torch
from torch import nn
import torch.nn.functional as F


@dataclass(frozen=True)
class Enlarge:
    scale_factor: float = 2.0
    mode: str = "bilinear"  # CULPRIT
    align_corners: bool = False


class Level(nn.Module):
    def __init__(self, outer, inner, enlarge, below=None):
        super().__init__()
        self.down = nn.Conv1d(outer, inner, 4, stride=2, padding=1)
        self.below = below or nn.Identity()
        self.up = nn.Conv1d(inner + outer, outer, 3, padding=1)
        self.enlarge = enlarge

    def forward(self, x):
        h = self.below(F.silu(self.down(x)))
        h = F.interpolate(h, **asdict(self.enlarge))
        return F.silu(self.up(torch.cat([h, x], dim=1)))


class GapFiller(nn.Module):
    def __init__(self, widths=(8, 12, 16), enlarge=Enlarge()):
        super().__init__()
        self.enter = nn.Conv1d(2, widths[0], 3, padding=1)
        level = None
        for outer, inner in reversed(list(zip(widths, widths[1:]))):
            level = Level(outer, inner, enlarge, level)
        self.levels = level
        self.leave = nn.Conv1d(widths[0], 1, 1)

    def forward(self, trace, known):
        x = torch.stack([trace * known, known], dim=1)
        return self.leave(self.levels(self.enter(x))).squeeze(1)


def traces(n, length, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.linspace(0, 1, length)
    rate = 3 + 5 * torch.rand(n, 1, generator=g)
    phase = 6.28 * torch.rand(n, 1, generator=g)
    wave = torch.sin(6.28 * rate * t + phase) * torch.exp(-t)
    start = torch.randint(length - 8, (n, 1), generator=g)
    place = torch.arange(length)
    known = ((place < start) | (place >= start + 8)).float()
    return wave, known


def main():
    torch.manual_seed(150)
    wave, known = traces(128, length=64, seed=151)
    model = GapFiller()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    gap = 1 - known
    for step in range(50):
        filled = model(wave, known)
        loss = ((filled - wave).square() * gap).sum() / gap.sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 10 == 0 or step == 49:
            print(f"step {step:2d}  mse in gaps {loss.item():.4f}")


if __name__ == "__main__":
    main()
