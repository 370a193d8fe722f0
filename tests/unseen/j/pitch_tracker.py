# kind: axes_crossed
"""Frame-wise pitch regression of sung notes with a recurrent network."""
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Setup:
    frames: int = 20
    bands: int = 16
    hidden: int = 32
    batch: int = 20
    lr: float = 5e-3
    epochs: int = 10


def songs(n, cfg):
    """Pitch contours in [0, 1], and noisy band energies around the pitch."""
    t = torch.linspace(0, 1, cfg.frames)
    start, slope = torch.rand(n, 1), 0.6 * torch.rand(n, 1) - 0.3
    vibrato = 0.05 * torch.sin(2 * torch.pi * (3 + 2 * torch.rand(n, 1)) * t)
    pitch = (start + slope * t + vibrato).clamp(0, 1)
    centre = torch.linspace(0, 1, cfg.bands)
    energy = torch.exp(-(((pitch.unsqueeze(-1) - centre) / 0.1) ** 2))
    return energy + 0.2 * torch.randn_like(energy), pitch


class PitchNet(nn.Module):
    """Convolution over the frames, then a GRU and a linear read-out per frame."""

    def __init__(self, cfg):
        super().__init__()
        self.conv = nn.Conv1d(cfg.bands, cfg.hidden, kernel_size=3, padding=1)
        self.gru = nn.GRU(cfg.hidden, cfg.hidden)
        self.head = nn.Linear(cfg.hidden, 1)

    def forward(self, energy):
        h = torch.relu(self.conv(energy.transpose(1, 2)))
        h, _ = self.gru(h.permute(2, 0, 1))
        return self.head(h).squeeze(-1)  # CULPRIT


def smoothness(pitch, weight=0.1):
    return weight * (pitch[:, 1:] - pitch[:, :-1]).pow(2).mean()


class Fitter:
    def __init__(self, model, cfg):
        self.model, self.cfg = model, cfg
        self.opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
        self.huber = nn.HuberLoss(delta=0.1)

    def batches(self, data):
        order = torch.randperm(len(data[0]))
        for idx in order.split(self.cfg.batch):
            yield tuple(part[idx] for part in data)

    def epoch(self, data):
        losses = []
        for energy, pitch in self.batches(data):
            estimate = self.model(energy)
            loss = self.huber(estimate, pitch) + smoothness(pitch=estimate)
            self.opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
            self.opt.step()
            losses.append(loss.item())
        return sum(losses) / len(losses)

    @torch.no_grad()
    def deviation(self, data):
        self.model.eval()
        parts = [(self.model(e) - p).abs().mean() for e, p in self.batches(data)]
        self.model.train()
        return torch.stack(parts).mean().item()


def main():
    torch.manual_seed(1)
    cfg = Setup()
    train, test = songs(400, cfg), songs(100, cfg)
    fitter = Fitter(PitchNet(cfg), cfg)
    for epoch in range(cfg.epochs):
        loss = fitter.epoch(train)
        if epoch % 3 == 0:
            print(f"epoch {epoch} loss {loss:.5f} mean deviation {fitter.deviation(test):.4f}")


if __name__ == "__main__":
    main()
