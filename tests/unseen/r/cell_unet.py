"""Denoise fluorescence microscopy lines with a one-dimensional U-Net.

TRUTH: the decoder is zipped with the skips without the deepest one, one fewer than there are decoder blocks, so zip stops early and the last block never runs; its parameters' grads are None in every step; zip with all the skips.
"""
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Settings:
    width: int = 12
    depth: int = 3
    steps: int = 80
    batch: int = 16
    length: int = 64
    lr: float = 5e-3


def block(c_in, c_out):
    return nn.Sequential(nn.Conv1d(c_in, c_out, 5, padding=2), nn.BatchNorm1d(c_out), nn.ReLU())


class LineUNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        w = cfg.width
        self.stem = nn.Conv1d(1, w, 3, padding=1)
        self.down = nn.ModuleList(block(w, w) for _ in range(cfg.depth))
        self.up = nn.ModuleList(block(2 * w, w) for _ in range(cfg.depth))
        self.out = nn.Conv1d(w, 1, 1)

    def forward(self, x):
        h = self.stem(x)
        skips = []
        for layer in self.down:
            h = layer(h)
            skips.append(h)
            h = F.avg_pool1d(h, 2)
        for layer, skip in zip(self.up, skips[-2::-1]):  # CULPRIT
            h = F.interpolate(h, size=skip.shape[-1], mode="linear")
            h = layer(torch.cat([h, skip], dim=1))
        return x - self.out(h)


def lines(cfg, gen):
    pos = torch.linspace(0, 1, cfg.length)
    center = torch.rand(cfg.batch, 4, 1, generator=gen)
    clean = torch.exp(-((pos - center) ** 2) / 0.002).sum(1, keepdim=True)
    return clean + 0.3 * torch.randn(cfg.batch, 1, cfg.length, generator=gen), clean


def main(cfg=Settings()):
    torch.manual_seed(41)
    gen = torch.Generator().manual_seed(41)
    net = LineUNet(cfg)
    opt = torch.optim.Adam(net.parameters(), lr=cfg.lr)
    for step in range(cfg.steps):
        noisy, clean = lines(cfg, gen)
        loss = F.mse_loss(net(noisy), clean)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 20 == 0 or step == cfg.steps - 1:
            print(f"step {step:2d} mse {loss.item():.4f} (input {F.mse_loss(noisy, clean).item():.4f})")


if __name__ == "__main__":
    main()
