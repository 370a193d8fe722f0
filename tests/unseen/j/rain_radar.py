# kind: exploding_gradient
"""Sharpen coarse rain radar images with a plain deep convolutional network."""
import math

import torch
from torch import nn
import torch.nn.functional as F


def rain_fields(n, size=16):
    field = torch.randn(n, 1, size + 8, size + 8)
    for _ in range(2):
        field = F.avg_pool2d(field, 5, stride=1)
    sharp = field / field.std()
    coarse = F.interpolate(F.avg_pool2d(sharp, 2), scale_factor=2, mode="nearest")
    return coarse, sharp


def init_weights(module):
    """He initialization, written out."""
    if isinstance(module, nn.Conv2d):
        fan_in = module.weight.size(1)  # CULPRIT
        nn.init.normal_(module.weight, std=math.sqrt(2.0 / fan_in))
        nn.init.zeros_(module.bias)


class Sharpener(nn.Module):
    def __init__(self, width=16, depth=9):
        super().__init__()
        layers = [nn.Conv2d(1, width, 3, padding=1), nn.ReLU()]
        for _ in range(depth):
            layers += [nn.Conv2d(width, width, 3, padding=1), nn.ReLU()]
        self.trunk = nn.Sequential(*layers)
        self.out = nn.Conv2d(width, 1, 3, padding=1)
        self.apply(init_weights)

    def forward(self, coarse):
        return self.out(self.trunk(coarse))


def gradient_norm(model):
    return torch.stack([p.grad.norm() for p in model.parameters()]).norm().item()


def train(steps=100, batch=16):
    coarse, sharp = rain_fields(256)
    model = Sharpener()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(steps):
        pick = torch.randint(len(coarse), (batch,))
        loss = F.mse_loss(model(coarse[pick]), sharp[pick])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0 or step == steps - 1:
            print(f"step {step}: mse {loss.item():.4g} gradient norm {gradient_norm(model):.3g}")


if __name__ == "__main__":
    torch.manual_seed(0)
    train()
