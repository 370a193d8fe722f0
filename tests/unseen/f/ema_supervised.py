"""What the user sees: the student reaches 98% but evaluation with the EMA model is far worse (about 0.68) in fully supervised
mode, no matter which decay I use.

TRUTH: update() averages only .parameters(); the EMA copy is never run in train mode, so its BatchNorm running_mean and
running_var keep their initial values 0/1. Fix: copy (or average) the buffers in update() too.
THREAD: https://github.com/FlyreelAI/sesemi/issues/36 "Batch norm weights not updated when using EMA"
"""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Backbone(nn.Module):
    def __init__(self, in_dim=16, width=32):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(in_dim, width), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU())

    def forward(self, x):
        return self.layers(x)


class Classifier(nn.Module):
    def __init__(self, num_classes=4):
        super().__init__()
        self.backbone = Backbone()
        self.head = nn.Linear(32, num_classes)

    def forward(self, x):
        return self.head(self.backbone(x))


class EMA:
    def __init__(self, model, decay=0.98):
        self.decay = decay
        self.module = copy.deepcopy(model)
        self.module.eval()
        self.module.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for ema_p, p in zip(self.module.parameters(), model.parameters()):  # CULPRIT
            ema_p.mul_(self.decay).add_(p, alpha=1 - self.decay)


@torch.no_grad()
def accuracy(model, loader):
    hits = total = 0
    for x, y in loader:
        hits += (model(x).argmax(1) == y).sum().item()
        total += len(y)
    return hits / total


def make_data(n, centers):
    y = torch.randint(0, len(centers), (n,))
    x = centers[y] + torch.randn(n, centers.shape[1])
    return TensorDataset(x * 4 + 12, y)


def main():
    torch.manual_seed(0)
    centers = torch.randn(4, 16)
    train_loader = DataLoader(make_data(2000, centers), batch_size=64, shuffle=True)
    val_loader = DataLoader(make_data(800, centers), batch_size=200)

    model = Classifier()
    ema = EMA(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)

    for epoch in range(6):
        model.train()
        for x, y in train_loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            ema.update(model)
        model.eval()
        print(f'epoch {epoch} loss {loss.item():.3f} val acc (student) {accuracy(model, val_loader):.3f} '
              f'val acc (ema) {accuracy(ema.module, val_loader):.3f}')


if __name__ == '__main__':
    main()
