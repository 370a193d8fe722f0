"""Classifies coins by their measured rim profile, with a hand-made scaling operation in front of the softmax.

TRUTH: ScaleLogits.forward doubles its input in place and returns that very tensor without ctx.mark_dirty, so for autograd the
output is the input handed through (a view of it); the following in-place logits *= self.s would then override the custom
backward. In old versions it did so silently (backward() was never called), today it raises "Output 0 of ScaleLogits is a
view and is being modified inplace". Fix: compute out of place, return x * factor (and scale with logits * self.s). Drawn from
https://github.com/pytorch/pytorch/issues/30454.
"""
import argparse
import logging

import torch
import torch.nn as nn
import torch.nn.functional as F

COINS = ["1c", "2c", "5c", "10c", "20c"]
logger = logging.getLogger("coins")


def rim_profiles(n, g, points=48):
    y = torch.randint(0, len(COINS), (n,), generator=g)
    angle = torch.linspace(0, 2 * torch.pi, points + 1)[:-1]
    ridges = torch.tensor([3.0, 4.0, 6.0, 9.0, 7.0])[y][:, None]
    turn = 2 * torch.pi * torch.rand(n, 1, generator=g)
    x = torch.cos(ridges * angle + turn) + 0.6 * torch.randn(n, points, generator=g)
    return x, y


class ScaleLogits(torch.autograd.Function):
    """multiplies the logits by a fixed factor and reports large gradients on the way back"""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        x *= factor  # CULPRIT
        return x

    @staticmethod
    def backward(ctx, grad_output):
        norm = grad_output.norm().item()
        if norm > 10.0:
            logger.warning("large gradient at the logits: %.1f", norm)
        return grad_output * ctx.factor, None


def scale_logits(x, factor=2.0):
    return ScaleLogits.apply(x, factor)


class RimNet(nn.Module):
    def __init__(self, points=48, channels=12, scale=1.5):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(1, channels, 9, padding=4, padding_mode="circular"), nn.ReLU(),
            nn.Conv1d(channels, 2 * channels, 9, padding=4, padding_mode="circular"), nn.ReLU())
        self.fc = nn.Linear(2 * channels, len(COINS))
        self.s = scale

    def forward(self, x):
        h = self.conv(x.unsqueeze(1)).mean(2)
        logits = scale_logits(self.fc(h))
        logits *= self.s
        return logits


def accuracy(net, x, y):
    with torch.no_grad():
        return (net(x).argmax(1) == y).float().mean().item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--batch", type=int, default=40)
    p.add_argument("--lr", type=float, default=5e-3)
    args = p.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.manual_seed(17)
    g = torch.Generator().manual_seed(17)
    x, y = rim_profiles(1000, g)
    x_val, y_val = rim_profiles(400, g)
    net = RimNet()
    logger.info("before training: accuracy %.3f", accuracy(net, x_val, y_val))
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.85)
    for epoch in range(args.epochs):
        total = 0.0
        for idx in torch.randperm(len(x), generator=g).split(args.batch):
            loss = F.cross_entropy(net(x[idx]), y[idx], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        scheduler.step()
        logger.info("epoch %d: loss %.4f, accuracy %.3f", epoch + 1, total / len(x), accuracy(net, x_val, y_val))


if __name__ == "__main__":
    main()
