# kind: output_cannot_reach_targets
import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Spec:
    widths: tuple = (3, 48, 48, 1)
    activation: type = nn.ReLU
    lr: float = 5e-3
    epochs: int = 16


def rod(n=640):
    """Temperature of a cooling rod over place, time and conductivity, standardized."""
    x, t, k = torch.rand(3, n)
    u = torch.sin(math.pi * x) * torch.exp(-k * math.pi ** 2 * t * 0.3)
    u = u + 0.5 * torch.sin(2 * math.pi * x) * torch.exp(-4 * k * math.pi ** 2 * t * 0.3)
    return torch.stack([x, t, k], 1), ((u - u.mean()) / u.std()).unsqueeze(1)


def build(spec):
    """A stack of linear layers from a list of widths."""
    layers = []
    pairs = list(zip(spec.widths[:-1], spec.widths[1:]))
    for i, (a, b) in enumerate(pairs):
        layers.append(nn.Linear(a, b))
        if i < len(pairs):  # CULPRIT
            layers.append(spec.activation())
    return nn.Sequential(*layers)


def fit(spec):
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(*rod()), batch_size=64, shuffle=True)
    net = build(spec)
    opt = torch.optim.Adam(net.parameters(), lr=spec.lr)
    for epoch in range(spec.epochs):
        total = 0.0
        for x, u in loader:
            opt.zero_grad()
            loss = F.mse_loss(net(x), u)
            loss.backward()
            opt.step()
            total += loss.item()
        if epoch % 3 == 0:
            print(f"epoch {epoch} mse {total / len(loader):.4f}")


fit(Spec())
