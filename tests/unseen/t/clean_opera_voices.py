"""Fine-tunes the last part of a pretrained voice-type classifier for the singers of one opera house."""
import fnmatch
from dataclasses import dataclass

import torch
from torch import nn
import torch.nn.functional as F

VOICES = ["soprano", "mezzo", "tenor", "baritone", "bass"]


@dataclass
class Recipe:
    train_only: tuple = ("classifier.*",)
    lr: float = 5e-2
    epochs: int = 20
    batch: int = 25

    def apply(self, model):
        for name, p in model.named_parameters():
            p.requires_grad_(any(fnmatch.fnmatch(name, pattern) for pattern in self.train_only))
        return model


class Spectral(nn.Module):
    def __init__(self, bins, width):
        super().__init__()
        self.mix = nn.Linear(bins, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return F.gelu(self.norm(self.mix(x)))


class VoiceNet(nn.Module):
    def __init__(self, bins=20, width=24, classes=len(VOICES)):
        super().__init__()
        self.tower = nn.Sequential(Spectral(bins, width), Spectral(width, width))
        self.classifier = nn.Linear(width, classes)

    def forward(self, frames):
        return self.classifier(self.tower(frames).mean(1))


class House:
    """Each opera house colours the spectra of its singers in its own way."""

    def __init__(self, seed, bins=20, frames=6):
        self.g = torch.Generator().manual_seed(seed)
        place = torch.arange(bins) / bins
        centre = torch.tensor([0.8, 0.65, 0.5, 0.35, 0.2])
        self.colour = 1 + 0.6 * torch.randn(bins, generator=self.g)
        self.shape = torch.exp(-((place - centre[:, None]) / 0.15) ** 2)
        self.frames = frames

    def singers(self, n):
        y = torch.randint(0, len(VOICES), (n,), generator=self.g)
        base = (self.shape[y] * self.colour)[:, None]
        return base + 0.7 * torch.randn(n, self.frames, self.shape.shape[1], generator=self.g), y


def fit(model, data, lr, epochs, batch, g, optimizer=torch.optim.SGD):
    x, y = data
    opt = optimizer(model.parameters(), lr=lr)
    model.train()
    for epoch in range(epochs):
        total = 0.0
        for idx in torch.randperm(len(x), generator=g).split(batch):
            opt.zero_grad()
            loss = F.cross_entropy(model(x[idx]), y[idx], label_smoothing=0.05)
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        yield epoch, total / len(x)


@torch.no_grad()
def hits(model, data):
    model.eval()
    x, y = data
    value = (model(x).argmax(-1) == y).float().mean().item()
    model.train()
    return value


def main():
    torch.manual_seed(13)
    g = torch.Generator().manual_seed(2)
    vienna, milan = House(1), House(2)
    model = VoiceNet()
    for epoch, loss in fit(model, vienna.singers(600), 3e-3, 8, 50, g, torch.optim.Adam):
        if epoch % 4 == 3:
            print(f"vienna {epoch:2d} loss {loss:.4f}")
    few, test = milan.singers(100), milan.singers(400)
    print(f"milan, before: {hits(model, test):.3f}")
    recipe = Recipe()
    recipe.apply(model)
    for epoch, loss in fit(model, few, recipe.lr, recipe.epochs, recipe.batch, g):
        if epoch % 5 == 4:
            print(f"milan {epoch:2d} loss {loss:.4f} accuracy {hits(model, test):.3f}")


if __name__ == "__main__":
    main()
