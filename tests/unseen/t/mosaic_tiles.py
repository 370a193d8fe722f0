"""Reconstructs a mosaic image: one small network per tile row paints its tiles into a common canvas.

TRUTH: `place` looks up the tile under `torch.no_grad()`, so the tile is a view
made in no-grad mode, and writing the network's output into it with grad mode
on is refused. Looking up a tile needs no `no_grad`: leave the decorator away.
"""
import enum
import functools
import math

import torch
from torch import nn
import torch.nn.functional as F


class Blend(enum.Enum):
    REPLACE = "replace"
    ADD = "add"


@functools.lru_cache(maxsize=None)
def grid(size):
    axis = torch.linspace(-1, 1, size)
    return torch.stack(torch.meshgrid(axis, axis, indexing="ij"), dim=-1).view(-1, 2)


def fourier(points, bands=3):
    freq = math.pi * 2.0 ** torch.arange(bands)
    wave = points[..., None] * freq
    return torch.cat([wave.sin(), wave.cos()], dim=-1).flatten(-2)


class Painter(nn.Module):
    def __init__(self, columns, size, bands=3, width=32):
        super().__init__()
        self.size = size
        self.style = nn.Embedding(columns, 4)
        self.net = nn.Sequential(nn.Linear(4 * bands + 4, width), nn.SiLU(), nn.Linear(width, 1))

    def forward(self, column):
        where = fourier(grid(self.size))
        style = self.style.weight[column].expand(len(where), -1)
        return self.net(torch.cat([where, style], dim=-1)).view(self.size, self.size)


class Canvas:
    def __init__(self, rows, columns, size, overlap=0):
        self.rows, self.columns, self.size = rows, columns, size
        self.pixels = torch.zeros(rows * size, columns * size)

    @torch.no_grad()  # CULPRIT
    def place(self, row, column):
        top, left = row * self.size, column * self.size
        return self.pixels[top : top + self.size, left : left + self.size]

    def paint(self, row, column, patch, blend=Blend.REPLACE):
        tile = self.place(row, column)
        if blend is Blend.ADD:
            tile += patch
        else:
            tile.copy_(patch)


class Mosaic(nn.Module):
    def __init__(self, rows=3, columns=3, size=10):
        super().__init__()
        self.shape = (rows, columns, size)
        self.painters = nn.ModuleList(Painter(columns, size) for _ in range(rows))
        self.ground = nn.Parameter(torch.zeros(rows, columns))

    def forward(self):
        rows, columns, size = self.shape
        canvas = Canvas(rows, columns, size)
        for r, painter in enumerate(self.painters):
            for c in range(columns):
                canvas.paint(r, c, painter(c))
                canvas.paint(r, c, self.ground[r, c].expand(size, size), Blend.ADD)
        return canvas.pixels


def picture(rows, columns, size):
    y, x = torch.meshgrid(torch.linspace(0, 1, rows * size), torch.linspace(0, 1, columns * size), indexing="ij")
    disc = ((x - 0.4) ** 2 + (y - 0.6) ** 2 < 0.1).float()
    return 0.6 * disc + 0.3 * torch.sin(9 * x + 4 * y) + 0.2 * y


def psnr(error):
    return -10 * math.log10(max(error, 1e-12))


def main():
    torch.manual_seed(10)
    model = Mosaic()
    target = picture(*model.shape)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.StepLR(opt, step_size=120, gamma=0.5)
    for step in range(301):
        loss = F.mse_loss(model(), target)
        opt.zero_grad()
        loss.backward()
        opt.step()
        schedule.step()
        if step % 100 == 0:
            print(f"step {step:4d} psnr {psnr(loss.item()):.2f} dB")


if __name__ == "__main__":
    main()
