"""A GAN that paints small periodic tile patterns; the generator gets several updates for each one of the discriminator.

TRUTH: The inner loop makes `tiles` with netG, scores them and calls backward through netD and netG, which frees that graph. The
discriminator's update afterwards reuses the last `tiles` of the loop, still attached to the generator's freed graph, so its
backward raises "Trying to backward through the graph a second time". Fix: netD(tiles.detach()) in the discriminator's update (or
fresh tiles made under no_grad). Drawn from
https://pytroubles.com/ru/posts/id2658-gan-v-pytorch-ispravljaem-oshibku-backward-cherez-detach.
"""
import argparse
import itertools
import math

import torch
import torch.nn as nn

SIDE = 8


def pattern_stream(batch, g):
    """endless batches of SIDE x SIDE waves in one of four directions"""
    yy, xx = torch.meshgrid(torch.arange(SIDE).float(), torch.arange(SIDE).float(), indexing="ij")
    directions = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0]])
    while True:
        d = directions[torch.randint(0, 4, (batch,), generator=g)]
        phase = 2 * math.pi * torch.rand(batch, 1, 1, generator=g)
        arg = 2 * math.pi / SIDE * (d[:, 0, None, None] * xx + d[:, 1, None, None] * yy)
        yield torch.sin(arg + phase).reshape(batch, -1)


class Painter(nn.Module):
    def __init__(self, latent, width=96):
        super().__init__()
        self.latent = latent
        self.net = nn.Sequential(
            nn.Linear(latent, width), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Linear(width, SIDE * SIDE), nn.Tanh())

    def forward(self, n):
        return self.net(torch.randn(n, self.latent))


class Judge(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(SIDE * SIDE, width), nn.LeakyReLU(0.2), nn.Dropout(0.2),
            nn.Linear(width, width), nn.LeakyReLU(0.2), nn.Dropout(0.2),
            nn.Linear(width, 1), nn.Sigmoid())

    def forward(self, tiles):
        return self.net(tiles).view(-1)


def update_painter(netG, netD, optG, bce, n):
    tiles = netG(n)
    scores = netD(tiles)
    g_loss = bce(scores, torch.ones_like(scores))
    optG.zero_grad()
    g_loss.backward()
    optG.step()
    return tiles, g_loss.item()


def update_judge(netD, optD, bce, real, tiles):
    real_scores = netD(real)
    fake_scores = netD(tiles)  # CULPRIT
    d_loss = bce(real_scores, torch.full_like(real_scores, 0.9)) + bce(fake_scores, torch.zeros_like(fake_scores))
    optD.zero_grad()
    d_loss.backward()
    optD.step()
    return d_loss.item(), real_scores.mean().item(), fake_scores.mean().item()


@torch.no_grad()
def purity(netG, n=256):
    """share of the spectral power in the base frequency; 1 for perfect waves, about 0.13 for noise"""
    netG.eval()
    power = torch.fft.fft2(netG(n).view(n, SIDE, SIDE)).abs() ** 2
    netG.train()
    low = {(0, 1), (1, 0), (1, 1), (1, 7), (0, 7), (7, 0), (7, 7), (7, 1)}
    return (sum(power[:, i, j] for i, j in low) / power.sum((1, 2)).clamp(min=1e-8)).mean().item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rounds", type=int, default=500)
    p.add_argument("--g-updates", type=int, default=2)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--latent", type=int, default=12)
    p.add_argument("--lr", type=float, default=8e-4)
    args = p.parse_args()
    torch.manual_seed(6)
    stream = pattern_stream(args.batch, torch.Generator().manual_seed(6))
    netG, netD = Painter(args.latent), Judge()
    bce = nn.BCELoss()
    optG = torch.optim.Adam(netG.parameters(), lr=args.lr, betas=(0.5, 0.999))
    optD = torch.optim.Adam(netD.parameters(), lr=2 * args.lr, betas=(0.5, 0.999))
    for n, real in enumerate(itertools.islice(stream, args.rounds), 1):
        for _ in range(args.g_updates):
            tiles, g_loss = update_painter(netG, netD, optG, bce, args.batch)
        d_loss, d_real, d_fake = update_judge(netD, optD, bce, real, tiles)
        if n % 100 == 0 or n == 1:
            print(f"round {n:3d}: G {g_loss:.3f}  D {d_loss:.3f}  D(real) {d_real:.2f}  D(fake) {d_fake:.2f}  "
                  f"purity {purity(netG):.2f}")


if __name__ == "__main__":
    main()
