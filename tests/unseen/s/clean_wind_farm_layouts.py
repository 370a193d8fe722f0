"""Predicts the output of a wind farm from weather, with optimizer and scheduler made from one description."""
from functools import partial

import torch
from torch import nn
from torch.optim import lr_scheduler

MAKERS = {
    "adam": torch.optim.Adam,
    "sgd": partial(torch.optim.SGD, momentum=0.9),
    "cosine": lr_scheduler.CosineAnnealingLR,
    "step": lr_scheduler.StepLR,
}

DESCRIPTION = {
    "optimizer": {"kind": "adam", "lr": 3e-2},
    "scheduler": {"kind": "cosine", "T_max": 60, "eta_min": 1e-4},
}


class Kit:
    """Makes the parts of a training from their descriptions."""

    def __init__(self, description):
        self.description = description

    def make(self, part, target):
        options = dict(self.description[part])
        return MAKERS[options.pop("kind")](target, **options)

    def build(self, model):
        params = list(model.parameters())
        parts = {"optimizer": self.make("optimizer", params)}
        if "scheduler" in self.description:
            parts["scheduler"] = self.make("scheduler", parts["optimizer"])
        return parts


class Weather:
    def __init__(self, seed):
        self.rng = torch.Generator().manual_seed(seed)

    def draw(self, count):
        speed = torch.rand(count, generator=self.rng)
        direction = 2 * torch.pi * torch.rand(count, generator=self.rng)
        wake = 1.0 - 0.3 * torch.cos(2 * direction).clamp(min=0)
        power = torch.sigmoid(12 * (speed - 0.5)) * wake
        features = torch.stack([2 * speed - 1, direction.sin(), direction.cos()], dim=1)
        return features, power + 0.03 * torch.randn(count, generator=self.rng)


class FarmModel(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.hidden = nn.ModuleList([nn.Linear(3, width), nn.Linear(width, width)])
        self.output = nn.Linear(width, 1)

    def forward(self, x):
        for layer in self.hidden:
            x = nn.functional.mish(layer(x))
        return self.output(x).squeeze(-1)


def train(model, weather, optimizer, scheduler=None, steps=60):
    for step in range(steps):
        features, power = weather.draw(48)
        loss = nn.functional.mse_loss(model(features), power)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
        if step % 10 == 9:
            rate = optimizer.param_groups[0]["lr"]
            print(f"step {step + 1:3d}  loss {loss.item():.5f}  lr {rate:.5f}")


def main():
    torch.manual_seed(18)
    model = FarmModel()
    train(model, Weather(seed=10), **Kit(DESCRIPTION).build(model))


if __name__ == "__main__":
    main()
