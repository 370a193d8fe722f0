"""Recognises glyphs with a network whose hidden weights and activations are only +1 and -1.

TRUTH: Right as it stands. BinarySign has a deliberately wrong derivative: the straight-through estimator, cut off where the input's
magnitude exceeds 1; torch.sign alone would give zero. The layers keep real-valued weights as parameters and binarise them afresh
in each forward; after each step the real weights are clamped to [-1, 1] in place under no_grad, as usual for such nets. Latent
weights therefore stop at the border, which is intended.
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class BinarySign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return grad * (x.abs() <= 1).to(grad.dtype)


class BinaryLinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.latent = nn.Parameter(torch.empty(n_out, n_in).uniform_(-0.3, 0.3))
        self.norm = nn.BatchNorm1d(n_out)

    def forward(self, x):
        w = BinarySign.apply(self.latent)
        return self.norm(F.linear(x, w) / x.shape[1] ** 0.5)

    @torch.no_grad()
    def restrict(self):
        self.latent.clamp_(-1, 1)


class GlyphNet(nn.Module):
    def __init__(self, pixels, classes, width=128):
        super().__init__()
        self.first = nn.Sequential(nn.Linear(pixels, width), nn.BatchNorm1d(width))
        self.hidden = nn.ModuleList([BinaryLinear(width, width) for _ in range(2)])
        self.last = nn.Linear(width, classes)

    def forward(self, x):
        h = self.first(x)
        for layer in self.hidden:
            h = layer(BinarySign.apply(h))
        return self.last(F.hardtanh(h))


def glyphs(n, g, prototypes):
    y = torch.randint(0, len(prototypes), (n,), generator=g)
    x = prototypes[y].clone()
    flip = torch.rand(x.shape, generator=g) < 0.18
    x[flip] *= -1
    return x + 0.3 * torch.randn(x.shape, generator=g), y


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=15)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--lr", type=float, default=5e-3)
    args = p.parse_args()
    torch.manual_seed(5)
    g = torch.Generator().manual_seed(35)
    prototypes = torch.randn(12, 49, generator=g).sign()
    x, y = glyphs(2000, g, prototypes)
    x_val, y_val = glyphs(500, g, prototypes)
    net = GlyphNet(49, 12)
    binary = [m for m in net.modules() if isinstance(m, BinaryLinear)]
    latent = [m.latent for m in binary]
    other = [w for w in net.parameters() if not any(w is v for v in latent)]
    opt = torch.optim.Adam([dict(params=latent, lr=args.lr), dict(params=other, lr=args.lr / 2, weight_decay=1e-4)])
    sched = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.02, total_iters=args.epochs)
    signs = [v.detach().sign() for v in latent]
    for epoch in range(1, args.epochs + 1):
        net.train()
        total = 0.0
        for idx in torch.randperm(len(x), generator=g).split(args.batch):
            loss = F.cross_entropy(net(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            for m in binary:
                m.restrict()
            total += loss.item() * len(idx)
        sched.step()
        net.eval()
        with torch.no_grad():
            acc = (net(x_val).argmax(1) == y_val).float().mean().item()
        new = [v.detach().sign() for v in latent]
        flips = sum((a != b).sum().item() for a, b in zip(signs, new))
        signs = new
        if epoch % 3 == 0:
            print(f"epoch {epoch:2d}  loss {total / len(x):.4f}  val accuracy {acc:.3f}  flipped weights {flips}")


if __name__ == "__main__":
    main()
