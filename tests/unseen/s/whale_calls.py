"""Trains a head for whale calls on a fixed cepstral encoder, whose filters come from a recipe and stay as they are.

TRUTH: grouped() sorts all named parameters into the optimizer's groups, the encoder's too, which freeze() has frozen for the whole run: the optimizer carries parameters that never get a gradient; hand it only those with requires_grad.
"""
import math
from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True)
class Tuning:
    lr: float = 1e-2
    decay: float = 1e-2
    warmup: int = 5
    steps: int = 50


class Encoder(nn.Module):
    """Cosine filters over the normalised bands, as shipped with the hydrophones."""

    def __init__(self, bands, width):
        super().__init__()
        self.norm = nn.LayerNorm(bands)
        self.lift = nn.Linear(bands, width)
        place = (torch.arange(bands) + 0.5) * math.pi / bands
        order = torch.arange(1, width + 1) * bands / (width + 1)
        with torch.no_grad():
            self.lift.weight.copy_(torch.cos(order[:, None] * place) * math.sqrt(2.0 / bands))
            self.lift.bias.zero_()

    def forward(self, spectrum):
        return torch.tanh(self.lift(self.norm(spectrum)))


class CallModel(nn.Module):
    def __init__(self, bands=16, width=24, calls=3):
        super().__init__()
        self.encoder = Encoder(bands, width)
        self.head = nn.Sequential(nn.Linear(width, 16), nn.SiLU(), nn.Linear(16, calls))

    def freeze(self, part):
        self.get_submodule(part).eval().requires_grad_(False)
        return self

    def forward(self, spectrum):
        return self.head(self.encoder(spectrum))


def grouped(model, decay):
    """Weights decay; biases and the scales of norms do not."""
    groups = {True: [], False: []}
    for name, p in model.named_parameters():
        groups[p.ndim > 1].append(p)  # CULPRIT
    return [{"params": groups[True], "weight_decay": decay},
            {"params": groups[False], "weight_decay": 0.0}]


class Sea:
    def __init__(self, seed, bands=16):
        self.rng = torch.Generator().manual_seed(seed)
        self.centres = torch.randn(3, bands, generator=self.rng)

    def draw(self, count):
        call = torch.randint(len(self.centres), (count,), generator=self.rng)
        noise = torch.randn(count, self.centres.shape[1], generator=self.rng)
        return self.centres[call] + 0.8 * noise, call


def tune(model, sea, tuning):
    optimizer = torch.optim.AdamW(grouped(model, tuning.decay), lr=tuning.lr)
    warmup = torch.optim.lr_scheduler.LinearLR(optimizer, 0.2, total_iters=tuning.warmup)
    for step in range(tuning.steps):
        spectrum, call = sea.draw(64)
        loss = nn.functional.cross_entropy(model(spectrum), call)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        warmup.step()
        if step % 10 == 9:
            print(f"step {step + 1:3d}  loss {loss.item():.4f}")


def main():
    torch.manual_seed(36)
    sea, model = Sea(seed=16), CallModel()
    tune(model.freeze("encoder"), sea, Tuning())


if __name__ == "__main__":
    main()
