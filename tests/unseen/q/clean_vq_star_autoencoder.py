"""Compresses light curves of variable stars with a vector-quantised autoencoder whose codebook is a moving average.

TRUTH: Right as it stands. The codebook is a buffer without gradient and belongs to no optimizer: it follows the encoder's outputs
by exponential moving averages under no_grad, with unused codes restarted. The quantised vector reaches the decoder as
z + (q - z).detach(), the straight-through estimator, so the encoder is trained by the decoder's gradient plus the commitment
term against the detached code. The detaches and in-place buffer updates (after their last use in the graph) are intended.
"""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class EMACodebook(nn.Module):
    def __init__(self, codes, dim, decay=0.95, eps=1e-3):
        super().__init__()
        self.decay, self.eps = decay, eps
        self.register_buffer("table", torch.randn(codes, dim) * 0.5)
        self.register_buffer("mass", torch.ones(codes))
        self.register_buffer("total", self.table.clone())

    @torch.no_grad()
    def follow(self, flat, index):
        hot = F.one_hot(index, len(self.table)).to(flat.dtype)
        self.mass.mul_(self.decay).add_(hot.sum(0), alpha=1 - self.decay)
        self.total.mul_(self.decay).add_(hot.t() @ flat, alpha=1 - self.decay)
        self.table.copy_(self.total / (self.mass + self.eps)[:, None])
        dead = self.mass < 0.05
        if dead.any():
            fresh = flat[torch.randint(0, len(flat), (int(dead.sum()),))]
            self.table[dead] = fresh
            self.total[dead] = fresh
            self.mass[dead] = 1.0

    def forward(self, z):
        flat = z.reshape(-1, z.shape[-1])
        index = torch.cdist(flat.detach(), self.table).argmin(1)
        code = self.table[index].view_as(z)
        commitment = F.mse_loss(z, code)
        out = z + (code - z).detach()
        if self.training:
            self.follow(flat.detach(), index)
        return out, commitment, index


class CurveVQ(nn.Module):
    def __init__(self, length=48, pieces=6, dim=8, codes=32):
        super().__init__()
        self.pieces = pieces
        step = length // pieces
        self.encoder = nn.Sequential(nn.Conv1d(1, 32, step, stride=step), nn.ReLU(), nn.Conv1d(32, dim, 1))
        self.book = EMACodebook(codes, dim)
        self.decoder = nn.Sequential(nn.Conv1d(dim, 48, 3, padding=1), nn.ReLU(), nn.ConvTranspose1d(48, 1, step, stride=step))

    def forward(self, x):
        z = self.encoder(x).transpose(1, 2)
        q, commitment, index = self.book(z)
        return self.decoder(q.transpose(1, 2)), commitment, index


def light_curves(n, g, length=48):
    t = torch.linspace(0, 2, length)
    period = 0.5 + torch.rand(n, 1, generator=g)
    phase = torch.rand(n, 1, generator=g)
    cycle = (t / period + phase) % 1.0
    kind = torch.randint(0, 3, (n, 1), generator=g)
    saw = 1 - 2 * cycle
    eclipse = 1 - 2 * torch.exp(-0.5 * ((cycle - 0.5) / 0.08) ** 2)
    wave = torch.sin(2 * math.pi * cycle)
    x = torch.where(kind == 0, saw, torch.where(kind == 1, eclipse, wave))
    return (x + 0.05 * torch.randn(n, length, generator=g)).unsqueeze(1)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--commit", type=float, default=0.25)
    args = p.parse_args()
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(30)
    x, val = light_curves(1500, g), light_curves(300, g)
    net = CurveVQ()
    opt = torch.optim.Adam(net.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.epochs)
    for epoch in range(1, args.epochs + 1):
        total = 0.0
        for idx in torch.randperm(len(x), generator=g).split(args.batch):
            recon, commitment, _ = net(x[idx])
            loss = F.mse_loss(recon, x[idx]) + args.commit * commitment
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        sched.step()
        if epoch % 4 == 0:
            net.eval()
            with torch.no_grad():
                recon, _, index = net(val)
            net.train()
            r2 = 1 - F.mse_loss(recon, val) / val.var()
            print(f"epoch {epoch:2d}  loss {total / len(x):.4f}  val r2 {r2.item():.3f}  codes used {len(index.unique())}")


if __name__ == "__main__":
    main()
