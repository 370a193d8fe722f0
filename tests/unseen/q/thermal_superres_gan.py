"""Doubles the resolution of one-dimensional thermal line scans with a small SRGAN-like pair of networks.

TRUTH: train_batch computes both losses first, on one common graph, and then goes D backward, D step, G backward, G step. The
step of the discriminator's optimizer changes its weights in place, while the generator's loss, computed before, still has to go
back through them: "one of the variables needed for gradient computation has been modified by an inplace operation". Fix: both
backward calls before both steps (optimizer_d.step() after g_loss.backward()), or score the fake again after the step of D.
Drawn from https://github.com/leftthomas/SRGAN/issues/89.
"""
import argparse
import math

import torch
import torch.nn as nn


def line_scans(n, g, length=64):
    t = torch.linspace(0, 1, length)
    freq = 2 + 6 * torch.rand(n, 3, 1, generator=g)
    phase = 2 * math.pi * torch.rand(n, 3, 1, generator=g)
    amp = torch.rand(n, 3, 1, generator=g)
    smooth = (amp * torch.sin(2 * math.pi * freq * t + phase)).sum(1)
    edge = (t[None] > torch.rand(n, 1, generator=g)).float()
    high = (smooth + edge).unsqueeze(1)
    low = nn.functional.avg_pool1d(high, 2)
    return low, high


class Residual(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.conv1 = nn.Conv1d(ch, ch, 3, padding=1)
        self.act = nn.PReLU()
        self.conv2 = nn.Conv1d(ch, ch, 3, padding=1)

    def forward(self, x):
        return x + self.conv2(self.act(self.conv1(x)))


class Upscaler(nn.Module):
    def __init__(self, ch=16, blocks=2):
        super().__init__()
        self.head = nn.Conv1d(1, ch, 5, padding=2)
        self.body = nn.Sequential(*[Residual(ch) for _ in range(blocks)])
        self.tail = nn.Conv1d(ch, 2, 3, padding=1)

    def forward(self, x):
        y = self.tail(self.body(self.head(x)))
        return torch.stack([y[:, 0], y[:, 1]], -1).flatten(1).unsqueeze(1)


class Critic(nn.Module):
    def __init__(self, ch=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(1, ch, 5, stride=2, padding=2), nn.LeakyReLU(0.2),
            nn.Conv1d(ch, 2 * ch, 5, stride=2, padding=2), nn.LeakyReLU(0.2),
            nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(2 * ch, 1))

    def forward(self, x):
        return torch.sigmoid(self.net(x)).squeeze(1)


class Session:
    def __init__(self, args):
        self.net_g, self.net_d = Upscaler(), Critic()
        self.optimizer_g = torch.optim.Adam(self.net_g.parameters(), lr=args.lr)
        self.optimizer_d = torch.optim.Adam(self.net_d.parameters(), lr=args.lr)
        self.pixel = nn.MSELoss()
        self.adv_weight = args.adv_weight

    def train_batch(self, low, high):
        fake = self.net_g(low)
        score_real = self.net_d(high).mean()
        score_fake = self.net_d(fake).mean()
        d_loss = 1 - score_real + score_fake
        g_loss = self.pixel(fake, high) + self.adv_weight * (1 - score_fake)

        self.optimizer_d.zero_grad()
        d_loss.backward(retain_graph=True)
        self.optimizer_d.step()  # CULPRIT

        self.optimizer_g.zero_grad()
        g_loss.backward()
        self.optimizer_g.step()
        return d_loss.item(), g_loss.item(), score_real.item(), score_fake.item()

    @torch.no_grad()
    def psnr(self, low, high):
        mse = self.pixel(self.net_g(low), high).item()
        return 10 * math.log10((high.max() - high.min()).item() ** 2 / mse)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--adv-weight", type=float, default=1e-3)
    args = p.parse_args()
    torch.manual_seed(2)
    g = torch.Generator().manual_seed(2)
    low, high = line_scans(640, g)
    val = line_scans(100, g)
    session = Session(args)
    print(f"before training: psnr {session.psnr(*val):.2f} dB")
    for epoch in range(args.epochs):
        sums = torch.zeros(4)
        for idx in torch.randperm(len(low), generator=g).split(args.batch):
            sums += torch.tensor(session.train_batch(low[idx], high[idx])) / (len(low) / args.batch)
        d, gl, real, fake = sums.tolist()
        print(f"epoch {epoch + 1}: loss_D {d:.4f} loss_G {gl:.5f} D(x) {real:.3f} D(G(z)) {fake:.3f} "
              f"psnr {session.psnr(*val):.2f} dB")


if __name__ == "__main__":
    main()
