"""Regress the bending of muon tracks from detector images in mixed precision.

TRUTH: the scaler is switched off wherever there is no CUDA although autocast uses float16 here too, so the tiny gradients of the averaged small targets underflow to exact 0 (printed share 1.00): the convolution never learns and the loss ends several times higher; enable the scaler whenever float16 is used.
"""
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Config:
    device: str = "cuda" if torch.cuda.is_available() else "cpu"
    amp: bool = True
    steps: int = 60
    batch: int = 32
    lr: float = 0.1
    unit: float = 1e-4


def tracks(cfg, gen, size=16):
    bend = torch.rand(cfg.batch, generator=gen) * 2 - 1
    row = torch.arange(size) / size - 0.5
    centre = 8 + 20 * bend[:, None] * row ** 2
    hits = torch.exp(-0.5 * (torch.arange(size)[None, None] - centre[:, :, None]) ** 2)
    target = bend[:, None] * row[None] * cfg.unit
    return hits[:, None].to(cfg.device), target.to(cfg.device)


class TrackNet(nn.Module):
    def __init__(self, size=16, width=64):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.fc1 = nn.Linear(4 * size * size, width)
        self.fc2 = nn.Linear(width, size)

    def forward(self, x):
        x = torch.relu(self.conv(x)).flatten(1)
        return self.fc2(torch.relu(self.fc1(x)))


def train(cfg):
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(1)
    model = TrackNet().to(cfg.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr / cfg.unit, momentum=0.9)
    scaler = torch.amp.GradScaler(cfg.device, enabled=cfg.device == "cuda")  # CULPRIT
    for step in range(cfg.steps):
        hits, target = tracks(cfg, gen)
        with torch.autocast(cfg.device, dtype=torch.float16, enabled=cfg.amp):
            predicted = model(hits) * cfg.unit
        loss = (predicted.float() - target).square().mean() / cfg.unit
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if step % 15 == 0 or step == cfg.steps - 1:
            zero = (model.conv.weight.grad == 0).float().mean().item()
            print(f"step {step:2d}  loss {loss.item() / cfg.unit:.4f}  zero gradients {zero:.2f}")


if __name__ == "__main__":
    train(Config())
