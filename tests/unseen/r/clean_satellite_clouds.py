"""Cloud detection over patches of a satellite image; models and optimizers come from a small registry.

TRUTH: fit() asks the registry for a session once per batch, and the registry builds a new model and optimizer at every call; no error, every step is the first step of a fresh model and the loss stays at ~0.7; keep built sessions (functools.cache) so that a name always gives the same one.
"""
import functools

import torch
from torch import nn
import torch.nn.functional as F

REGISTRY = {}


def register(name):
    def add(builder):
        REGISTRY[name] = builder
        return builder
    return add


@register("linear")
def linear(bands=5, size=10):
    return nn.Sequential(nn.Flatten(), nn.Linear(bands * size * size, 1))


@register("small_cnn")
def small_cnn(bands=5, width=8):
    return nn.Sequential(
        nn.Conv2d(bands, width, 3, padding=1), nn.ReLU(),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(4 * width, 1),
    )


@functools.cache
def session(name, lr=1e-2):
    model = REGISTRY[name]()
    return model, torch.optim.Adam(model.parameters(), lr=lr)


def patches(n, size=10):
    cloudy = torch.rand(n) < 0.5
    ground = 0.5 * torch.randn(n, 5, size, size)
    cover = F.interpolate(torch.rand(n, 1, 3, 3), size=size, mode="bilinear")
    return ground + cloudy[:, None, None, None] * cover, cloudy.float()


def train_batch(name, x, y):
    model, opt = session(name)
    model.train()
    loss = F.binary_cross_entropy_with_logits(model(x).squeeze(1), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


def fit(name, x, y, epochs=6, batch=32):
    for epoch in range(epochs):
        losses = [train_batch(name, x[i], y[i]) for i in torch.randperm(len(x)).split(batch)]
        print(f"{name} epoch {epoch} loss {sum(losses) / len(losses):.4f}")


@torch.no_grad()
def score(name, x, y):
    model, _ = session(name)
    model.eval()
    return ((model(x).squeeze(1) > 0) == y.bool()).float().mean().item()


if __name__ == "__main__":
    torch.manual_seed(40)
    x, y = patches(700)
    fit("small_cnn", x[:500], y[:500])
    print("test accuracy", score("small_cnn", x[500:], y[500:]))
