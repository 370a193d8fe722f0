"""Classifies bird calls by species from pooled spectrogram features and reports the hit rate.

TRUTH: the decision rule takes argmax over dim 0, which is the batch, so the best sample of each species is compared with the labels (20 species, batches of 20) and the hit rate stays near chance; use dim=1.
"""
from functools import partial
from types import SimpleNamespace

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

SETTINGS = SimpleNamespace(
    species=20,
    bands=32,
    batch=20,
    epochs=10,
    lr=3e-3,
    decide=partial(torch.argmax, dim=0),  # CULPRIT
)


def record_calls(settings, per_species, seed):
    g = torch.Generator().manual_seed(seed)
    voices = torch.randn(settings.species, settings.bands, generator=g)
    labels = torch.arange(settings.species).repeat(per_species)
    noise = torch.randn(len(labels), settings.bands, generator=g)
    return TensorDataset(voices[labels] + 0.9 * noise, labels)


class CallNet(nn.Sequential):
    def __init__(self, bands, species):
        super().__init__(
            nn.LayerNorm(bands),
            nn.Linear(bands, 64),
            nn.SiLU(),
            nn.Linear(64, species),
        )


class HitRate:
    def __init__(self, decide):
        self.decide = decide
        self.reset()

    def reset(self):
        self.hits = self.seen = 0

    def update(self, logits, labels):
        guess = self.decide(logits)
        self.hits += guess.eq(labels).sum().item()
        self.seen += labels.numel()

    def compute(self):
        return self.hits / self.seen


@torch.no_grad()
def survey(model, loader, metric):
    model.eval()
    metric.reset()
    for calls, labels in loader:
        metric.update(model(calls), labels)
    return metric.compute()


def train_epoch(model, loader, opt):
    model.train()
    total = 0.0
    for calls, labels in loader:
        loss = nn.functional.cross_entropy(model(calls), labels, label_smoothing=0.05)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    return total / len(loader)


def main(settings=SETTINGS):
    torch.manual_seed(5)
    data = record_calls(settings, per_species=30, seed=31)
    train, held_out = random_split(data, [500, 100], generator=torch.Generator().manual_seed(1))
    train_loader = DataLoader(train, batch_size=settings.batch, shuffle=True)
    check_loader = DataLoader(held_out, batch_size=settings.batch)
    model = CallNet(settings.bands, settings.species)
    opt = torch.optim.Adam(model.parameters(), lr=settings.lr)
    metric = HitRate(settings.decide)
    for epoch in range(settings.epochs):
        loss = train_epoch(model, train_loader, opt)
        print(f"epoch {epoch:2d}  loss {loss:.4f}  hit rate {survey(model, check_loader, metric):.3f}")


if __name__ == "__main__":
    main()
