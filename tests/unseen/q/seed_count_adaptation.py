"""Estimates seed density from field photos' features, adapted to a second camera with a gradient reversal layer.

TRUTH: CountNet.forward takes grl_lambda from the schedule of the training loop but calls self.adapt(h) without it, so the reversal layer works
with its default weight 1 from the first step on and the schedule (0 at the start, at most --max-lambda) is without effect: the
still untrained features are pushed around at full adversarial strength and the count suffers; changing --max-lambda changes nothing.
Fix: self.adapt(h, grl_lambda). Drawn from https://github.com/p2irc/UDA4POC/issues/3.
"""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class ReverseGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.weight = weight
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -ctx.weight * grad, None


class DomainHead(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(width, 32), nn.LeakyReLU(0.1), nn.Linear(32, 1))

    def forward(self, h, grl_lambda=1.0):
        return self.net(ReverseGradient.apply(h, grl_lambda))[:, 0]


class CountNet(nn.Module):
    def __init__(self, features=16, width=32):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.count = nn.Linear(width, 1)
        self.adapt = DomainHead(width)

    def forward(self, x, grl_lambda=1.0):
        h = self.backbone(x)
        density = F.softplus(self.count(h))[:, 0]
        domain = self.adapt(h)  # CULPRIT
        return density, domain


def photos(n, camera, g):
    """camera 1 has a colour cast on some of the features and lower contrast"""
    mix = torch.randn(6, 16, generator=torch.Generator().manual_seed(50))
    content = torch.randn(n, 6, generator=g)
    x = torch.tanh(content @ mix / 2)
    if camera == 1:
        x = 0.8 * x + 0.6 * torch.sin(torch.arange(16.0))
    density = F.softplus(2 * content[:, 0] + content[:, 1] * content[:, 2])
    return x + 0.05 * torch.randn(n, 16, generator=g), density


def schedule(progress, top):
    return top * (2 / (1 + math.exp(-10 * progress)) - 1)


def evaluate(net, x, y):
    net.eval()
    with torch.no_grad():
        density, domain = net(x)
    net.train()
    return (density - y).abs().mean().item(), torch.sigmoid(domain).mean().item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=25)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--max-lambda", type=float, default=0.2)
    args = p.parse_args()
    torch.manual_seed(14)
    g = torch.Generator().manual_seed(14)
    x_src, y_src = photos(2000, 0, g)
    x_tgt, _ = photos(2000, 1, g)
    val_src, val_tgt = photos(500, 0, g), photos(500, 1, g)

    net = CountNet()
    optimizer = torch.optim.AdamW(net.parameters(), lr=args.lr, weight_decay=1e-3)
    steps = len(x_src) // args.batch
    for epoch in range(args.epochs):
        order_s = torch.randperm(len(x_src), generator=g)
        order_t = torch.randperm(len(x_tgt), generator=g)
        sums = torch.zeros(2)
        for i in range(steps):
            s = order_s[i * args.batch:(i + 1) * args.batch]
            t = order_t[i * args.batch:(i + 1) * args.batch]
            lam = schedule((epoch + i / steps) / args.epochs, args.max_lambda)
            density, dom_s = net(x_src[s], grl_lambda=lam)
            _, dom_t = net(x_tgt[t], grl_lambda=lam)
            count_loss = F.mse_loss(density, y_src[s])
            domain_loss = (F.binary_cross_entropy_with_logits(dom_s, torch.zeros_like(dom_s))
                           + F.binary_cross_entropy_with_logits(dom_t, torch.ones_like(dom_t)))
            optimizer.zero_grad()
            (count_loss + domain_loss).backward()
            optimizer.step()
            sums += torch.tensor([count_loss.item(), domain_loss.item()]) / steps
        if epoch % 4 == 0 or epoch == args.epochs - 1:
            mae_s, _ = evaluate(net, *val_src)
            mae_t, conf = evaluate(net, *val_tgt)
            print(f"epoch {epoch:2d}  lambda {lam:.3f}  count {sums[0]:.3f}  domain {sums[1]:.3f}  "
                  f"mae camera 0 {mae_s:.3f}  camera 1 {mae_t:.3f}")


if __name__ == "__main__":
    main()
