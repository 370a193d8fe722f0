# kind: optimizer_made_anew
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def tides(n=400):
    """Water level from the hour and the phase of the moon."""
    t = torch.rand(n, 1) * 2 * math.pi
    moon = torch.rand(n, 1) * 2 * math.pi
    level = torch.cos(2 * t) + 0.4 * torch.cos(2 * moon) * torch.cos(t)
    x = torch.cat([t.sin(), t.cos(), moon.sin(), moon.cos()], 1)
    return TensorDataset(x, level + 0.05 * torch.randn(n, 1))


class TideNet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(4, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1)
        )

    def forward(self, x):
        return self.net(x)


def configure(model, lr=5e-3):
    decay = [p for p in model.parameters() if p.ndim > 1]
    rest = [p for p in model.parameters() if p.ndim <= 1]
    return torch.optim.AdamW([
        {"params": decay, "weight_decay": 0.01},
        {"params": rest, "weight_decay": 0.0},
    ], lr=lr)


def train_batch(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = F.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(0)
    loader = DataLoader(tides(), batch_size=50, shuffle=True)
    model = TideNet()
    optimizer = configure(model)
    for epoch in range(20):
        total = 0.0
        for x, y in loader:
            total += train_batch(model, configure(model), x, y)  # CULPRIT
        if epoch % 4 == 3:
            print(f"epoch {epoch} mse {total / len(loader):.4f} states {len(optimizer.state)}")


main()
