"""Recurrent network with binarized recurrent weights and ternary activations, trained with straight-through gradients.

TRUTH: correct: sign() and round() have zero derivative, so Binarize is a custom Function whose backward passes
the gradient where |w| <= 1 and blocks it elsewhere (clipped straight-through), and the activations use the
x + (q - x).detach() form. The latent weights are clamped in place to [-1, 1] under no_grad after each step.
The scale is computed from the detached weights on purpose (the scale is a statistic, not a path for
gradient). The initial latent weights are small, so weights flip sign during training.
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, w):
        ctx.save_for_backward(w)
        return torch.where(w >= 0, torch.ones_like(w), -torch.ones_like(w))

    @staticmethod
    def backward(ctx, grad):
        (w,) = ctx.saved_tensors
        return grad * (w.abs() <= 1).to(grad.dtype)


def ternary(x):
    x = x.clamp(-1, 1)
    return x + (x.round() - x).detach()


class BinaryLinear(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(d_out, d_in).uniform_(-0.3, 0.3))
        self.bias = nn.Parameter(torch.zeros(d_out))

    def forward(self, x):
        scale = self.weight.detach().abs().mean(dim=1) / self.weight.size(1) ** 0.5
        return F.linear(x, Binarize.apply(self.weight)) * scale * 4.0 + self.bias

    @torch.no_grad()
    def clip_latent(self):
        self.weight.clamp_(-1.0, 1.0)


class BinaryRNN(nn.Module):
    def __init__(self, n_symbols, hidden, n_out):
        super().__init__()
        self.inp = nn.Embedding(n_symbols, hidden)
        self.gate = BinaryLinear(hidden, hidden)
        self.rec = BinaryLinear(hidden, hidden)
        self.out = nn.Linear(hidden, n_out)

    def forward(self, seq):
        e = self.inp(seq)
        h = torch.zeros_like(e[:, 0])
        for t in range(seq.size(1)):
            z = torch.sigmoid(self.gate(ternary(h)) + e[:, t].roll(1, dims=-1))
            h = (1 - z) * h + z * torch.tanh(self.rec(ternary(h)) + e[:, t])
        return self.out(ternary(h) + 0.5 * h)


def parity_like(n, gen):
    """Label: the last non-blank symbol among the first eight positions; blanks are 0."""
    seq = torch.zeros(n, 10, dtype=torch.long)
    y = torch.zeros(n, dtype=torch.long)
    for row in range(n):
        pos = torch.randperm(8, generator=gen)[:2].sort().values
        sym = torch.randint(1, 6, (2,), generator=gen)
        seq[row, pos] = sym
        y[row] = sym[1] - 1
    return seq, y


def run(args):
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 1)
    seq, y = parity_like(1600, gen)
    train, test = (seq[:1280], y[:1280]), (seq[1280:], y[1280:])
    net = BinaryRNN(6, args.hidden, 5)
    binary = [m for m in net.modules() if isinstance(m, BinaryLinear)]
    start = [m.weight.detach().sign() for m in binary]
    opt = torch.optim.Adam(net.parameters(), lr=args.lr)
    for epoch in range(1, args.epochs + 1):
        total = 0.0
        for idx in torch.randperm(1280, generator=gen).split(64):
            loss = F.cross_entropy(net(train[0][idx]), train[1][idx])
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            for m in binary:
                m.clip_latent()
            total += loss.item() * len(idx)
        with torch.no_grad():
            acc = (net(test[0]).argmax(-1) == test[1]).float().mean().item()
        flips = sum((m.weight.sign() != s).sum().item() for m, s in zip(binary, start))
        print(f"epoch {epoch} loss {total / 1280:.4f} test acc {acc:.3f} flipped weights {flips}")


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--hidden", type=int, default=48)
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--lr", type=float, default=1e-2)
    ap.add_argument("--seed", type=int, default=0)
    run(ap.parse_args())
