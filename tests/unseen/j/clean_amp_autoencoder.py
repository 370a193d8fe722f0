# kind: scaled_gradients_applied
"""Mixed precision autoencoder for ECG-like beats."""
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Settings:
    epochs: int = 8
    batch: int = 32
    lr: float = 0.01
    momentum: float = 0.9
    clip: float = 5.0
    device: str = "cpu"


def beats(n, length=64, seed=0):
    gen = torch.Generator().manual_seed(seed)
    t = torch.linspace(0, 1, length)
    centre = 0.4 + 0.2 * torch.rand(n, 1, generator=gen)
    height = 0.8 + 0.6 * torch.rand(n, 1, generator=gen)
    r_wave = height * torch.exp(-((t - centre) / 0.03) ** 2)
    t_wave = 0.3 * height * torch.exp(-((t - centre - 0.25) / 0.08) ** 2)
    return r_wave + t_wave + 0.02 * torch.randn(n, length, generator=gen)


class BeatAE(nn.Module):
    def __init__(self, length=64, code=6):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(length, 64), nn.ReLU(), nn.Linear(64, code))
        self.dec = nn.Sequential(nn.Linear(code, 64), nn.ReLU(), nn.Linear(64, length))

    def forward(self, x):
        return self.dec(self.enc(x))


def beat_error(recon, beat):
    """Squared error of a beat, summed over its samples."""
    return (recon - beat).pow(2).sum(dim=1).mean()


class Stepper:
    """One object for backward, clipping and the optimizer step."""

    def __init__(self, model, cfg):
        self.params = list(model.parameters())
        self.clip = cfg.clip
        self.opt = torch.optim.SGD(self.params, lr=cfg.lr, momentum=cfg.momentum)
        self.scaler = torch.amp.GradScaler(cfg.device)

    def backward(self, loss):
        self.opt.zero_grad()
        self.scaler.scale(loss).backward()

    def apply(self):
        self.scaler.unscale_(self.opt)
        nn.utils.clip_grad_norm_(self.params, self.clip)
        self.scaler.step(self.opt)
        self.scaler.update()


def train(cfg):
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(beats(512)), batch_size=cfg.batch, shuffle=True)
    model = BeatAE()
    stepper = Stepper(model, cfg)
    for epoch in range(cfg.epochs):
        total = 0.0
        for (x,) in loader:
            with torch.autocast(cfg.device, dtype=torch.float16):
                loss = beat_error(model(x).float(), x)
            stepper.backward(loss)
            stepper.apply()
            total += loss.item()
        print(f"epoch {epoch} error {total / len(loader):.5f}")


if __name__ == "__main__":
    train(Settings())
